"""Local storage is read and written for origins that are open, and for those that are not, in a real browser."""

import asyncio
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.storage import Storage
from tests.drivers.devtools.conftest import Tab
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def is_kept(storage: Storage, wanted: dict[str, list[dict[str, str]]]) -> bool:
    return await storage.read(wanted) == wanted


async def test_items_of_an_origin_are_read_whether_or_not_it_is_open(devtools: Devtools, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    await asyncio.to_thread(tab.run, "localStorage.setItem('key', 'välue')")
    storage = Storage(devtools)
    assert site in await storage.origins()
    kept = {site: [{"name": "key", "value": "välue"}]}
    # The browser passes it on from one process to another in its own time.
    await eventually(lambda: is_kept(storage, kept))
    await asyncio.to_thread(tab.go, "about:blank")
    assert await storage.read([site]) == kept
    assert await storage.read(["https://nobody.example"]) == {}


async def test_items_are_there_for_the_next_page(devtools: Devtools, tab: Tab, site: str) -> None:
    await Storage(devtools).write({site: [{"name": "made", "value": "</script>'\"\u2028"}]})
    await asyncio.to_thread(tab.go, f"{site}/page")
    assert await asyncio.to_thread(tab.run, "localStorage.getItem('made')") == "</script>'\"\u2028"


async def test_nobody_sees_the_visitor(devtools: Devtools, shared: Any, site: str) -> None:
    before = [info["id"] for info in shared.get("/json/list")]
    await Storage(devtools).write({site: [{"name": "a", "value": "1"}]})
    assert [info["id"] for info in shared.get("/json/list")] == before
    assert [exchange for exchange in devtools.traffic if exchange.url == f"{site}/"] == []


async def test_what_does_not_fit_is_a_conflict_that_names_the_origin(devtools: Devtools, site: str) -> None:
    with pytest.raises(Conflict, match=r"127\.0\.0\.1.*quota"):
        await Storage(devtools).write({site: [{"name": "large", "value": "x" * (6 << 20)}]})
