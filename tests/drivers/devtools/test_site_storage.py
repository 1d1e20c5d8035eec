"""A site is forgotten by a real browser, and no other one is."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.site_storage import SiteStorage, belongs_to, is_site
from sandbox_server.drivers.devtools.storage import Storage
from tests.drivers.devtools.conftest import Tab

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "text", ["example.org", "a.b.example.org", "localhost", "127.0.0.1", "[::1]", "EXAMPLE.org", "xn--bcher-kva.example"]
)
def test_a_host_is_a_site(text: str) -> None:
    assert is_site(text)


@pytest.mark.parametrize(
    "text", ["", "com", "*", ".example.org", "example.org.", "a..b", "https://example.org", "example.org/x", "ä.de", "a:1"]
)
def test_anything_else_is_none(text: str) -> None:
    assert not is_site(text)


def test_hosts_below_a_site_belong_to_it() -> None:
    assert [belongs_to(host, "example.org") for host in ("example.org", ".example.org", "a.b.Example.org")] == [True] * 3
    assert [belongs_to(host, "example.org") for host in ("badexample.org", "org", "example.org.evil.net")] == [False] * 3


def cookie(name: str, domain: str) -> dict[str, Any]:
    return {"name": name, "value": "1", "domain": domain, "path": "/", "expires": 4_000_000_000}


async def test_cookies_and_storage_of_a_site_go_and_those_of_others_stay(devtools: Devtools, tab: Tab, site: str) -> None:
    storage, host = Storage(devtools), urlsplit(site).hostname
    await asyncio.to_thread(tab.go, f"{site}/page")
    await asyncio.to_thread(tab.run, "localStorage.setItem('login', 'yes')")
    given = [cookie("here", str(host)), cookie("other", "other.example"), cookie("below", "a.kept.example"), cookie("all", ".kept.example")]
    await devtools.command("Storage.setCookies", {"cookies": given})
    cleared = await SiteStorage(devtools, storage).clear("kept.example")
    assert (cleared.cookies, "https://a.kept.example" in cleared.origins) == (2, True)
    assert await left(devtools) == {"here", "other"}
    assert site in (await storage.read([site]))
    cleared = await SiteStorage(devtools, storage).clear(str(host))
    assert (cleared.cookies, site in cleared.origins) == (1, True)
    assert await left(devtools) == {"other"}
    assert await storage.read([site]) == {}


async def left(devtools: Devtools) -> set[str]:
    wanted = {"here", "other", "below", "all"}
    return {each["name"] for each in (await devtools.command("Storage.getCookies"))["cookies"]} & wanted
