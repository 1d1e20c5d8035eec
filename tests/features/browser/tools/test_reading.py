import pytest

from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_markdown_comes_as_text_and_links_as_a_list(pages: Pages) -> None:
    await pages.visit("/article")

    assert "Paragraph 3" in await pages("GET tools/markdown")
    assert [(link.text, link.href) for link in await pages("GET tools/links")] == [
        ("Home", f"{pages.web}/"),
        ("there", f"{pages.web}/deep"),
    ]


async def test_a_script_and_a_picture_are_had_by_the_names_agents_know(pages: Pages) -> None:
    await pages.visit("/feed")
    sight = await pages("GET tools/screenshot", name="the feed")
    whole = await pages("GET tools/screenshot", fullPage=True)

    assert await pages("POST tools/evaluate", script="() => document.title") == "Feed"
    assert sight.body.startswith(b"\x89PNG")
    assert len(whole.body) != len(sight.body)
