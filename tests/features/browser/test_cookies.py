"""Cookies are listed, checked before they are set, and cleared."""

from typing import Any

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.features.browser.cookies import Cookies, CookiesQuery, SetCookiesRequest
from tests.features.browser.browsers import FakeDevtools

pytestmark = pytest.mark.anyio


@pytest.fixture
def devtools() -> FakeDevtools:
    made = FakeDevtools()
    kept = [{"name": domain, "value": "v", "domain": domain, "path": "/", "session": True} for domain in ("a.example", ".b.example")]
    made.answers["Storage.getCookies"] = {"cookies": kept}
    return made


@pytest.fixture
def cookies(devtools: FakeDevtools) -> Cookies:
    return Cookies(devtools)  # type: ignore[arg-type] # all that is used


def setting(*cookies: dict[str, Any]) -> SetCookiesRequest:
    return SetCookiesRequest(cookies=list(cookies))


async def test_cookies_are_listed_all_or_by_addresses(cookies: Cookies) -> None:
    assert len(await cookies.get_cookies(CookiesQuery())) == 2
    found = await cookies.get_cookies(CookiesQuery(urls="https://c.b.example/, https://d.example"))
    assert [cookie["name"] for cookie in found] == [".b.example"]
    with pytest.raises(InvalidFields):
        await cookies.get_cookies(CookiesQuery(urls="http://["))


async def test_cookies_are_set_as_the_browser_takes_them(cookies: Cookies, devtools: FakeDevtools) -> None:
    by_domain = {"name": "a", "value": "1", "domain": "a.example", "expires": -1, "sameSite": "Lax", "whatever": {}}
    await cookies.set_cookies(setting(by_domain, {"name": "b", "value": "2", "url": "https://a.example/"}))
    assert devtools.commands == [
        (
            "Storage.setCookies",
            {
                "cookies": [
                    {"path": "/", "name": "a", "value": "1", "domain": "a.example", "sameSite": "Lax"},
                    {"name": "b", "value": "2", "url": "https://a.example/"},
                ]
            },
        )
    ]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"value": "1", "url": "https://a.example"}, ("cookies", 1, "name")),
        ({"name": "a", "value": "1"}, ("cookies", 1)),
        ({"name": "a", "value": "1", "url": "https://a.example", "sameSite": "Maybe"}, ("cookies", 1, "sameSite")),
    ],
)
async def test_a_wrong_cookie_is_named_and_none_is_set(
    cookies: Cookies, devtools: FakeDevtools, wrong: dict[str, Any], place: tuple[str | int, ...]
) -> None:
    with pytest.raises(InvalidFields) as refused:
        await cookies.set_cookies(setting({"name": "a", "value": "hush", "url": "https://a.example"}, wrong))
    assert [problem["loc"] for problem in refused.value.problems] == [place]
    assert "hush" not in str(refused.value.problems)
    assert devtools.commands == []


async def test_what_the_browser_refuses_is_said(cookies: Cookies, devtools: FakeDevtools) -> None:
    devtools.refuses.add("Storage.setCookies")
    with pytest.raises(InvalidArgument, match="Invalid cookie fields"):
        await cookies.set_cookies(setting({"name": "a", "value": "1", "url": "about:blank"}))


async def test_cookies_are_cleared(cookies: Cookies, devtools: FakeDevtools) -> None:
    await cookies.clear_cookies()
    assert devtools.commands == [("Storage.clearCookies", {})]
