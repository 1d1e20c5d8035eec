import pytest

from sandbox_server.features.browser.tools.listing import line_of
from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio

PLAIN = dict.fromkeys(("type", "role", "placeholder", "value", "href", "checked", "disabled"))


def test_a_line_shows_what_an_element_has() -> None:
    assert line_of({"text": "plain"}) == "[]plain"
    assert line_of({**PLAIN, "index": 3, "tag": "a", "href": "/x", "name": "there"}) == '[3]<a href="/x">there</a>'
    assert line_of({**PLAIN, "index": 0, "tag": "input", "type": "checkbox", "checked": True, "name": ""}) == (
        '[0]<input type="checkbox" checked="True"></input>'
    )


async def test_a_page_is_read_as_lines(pages: Pages) -> None:
    await pages.visit("/")

    assert (await pages("GET tools/elements")).splitlines() == [
        "[]Welcome",
        f'[0]<a href="{pages.web}/form">To the form</a>',
        f'[1]<a href="{pages.web}/article">To the article</a>',
    ]
