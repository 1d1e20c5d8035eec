"""Cookies are shown as Playwright shows them, and picked as a request would pick them."""

from typing import Any

import pytest

from sandbox_server.drivers.devtools.cookies import sent_to, to_storage_state


def cookie(**more: Any) -> dict[str, Any]:
    return to_storage_state({"name": "n", "value": "v", "domain": "a.example", "path": "/", "session": True, **more})


def test_a_cookie_has_the_names_of_the_storage_state() -> None:
    assert cookie() == {
        "name": "n",
        "value": "v",
        "domain": "a.example",
        "path": "/",
        "expires": -1,
        "httpOnly": False,
        "secure": False,
        "sameSite": "Lax",
    }
    assert cookie(session=False, expires=5.5)["expires"] == 5.5
    assert cookie(partitionKey={"topLevelSite": "https://b.example"})["partitionKey"] == "https://b.example"


@pytest.mark.parametrize(
    ("kept", "url", "is_sent"),
    [
        ({}, "http://a.example/x", True),
        ({}, "http://b.a.example/", False),
        ({"domain": ".a.example"}, "http://b.a.example/", True),
        ({"domain": ".a.example"}, "http://ba.example/", False),
        ({"path": "/x"}, "http://a.example/x/y", True),
        ({"path": "/x"}, "http://a.example/xy", False),
        ({"secure": True}, "http://a.example/", False),
        ({"secure": True}, "https://a.example", True),
        ({"secure": True, "domain": "localhost"}, "http://localhost/", True),
    ],
)
def test_a_cookie_goes_where_it_belongs(kept: dict[str, Any], url: str, is_sent: bool) -> None:
    assert bool(sent_to([cookie(**kept)], [url])) is is_sent
