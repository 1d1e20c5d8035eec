"""Local storage is read and written for origins that are open, and for those that are not, in a real browser."""

import asyncio
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.storage import Storage, Stored
from tests.drivers.devtools.conftest import Tab
from tests.patience import eventually

pytestmark = pytest.mark.anyio


MAKE = """new Promise(resolve => {
    const opening = indexedDB.open('kept', 3);
    opening.onupgradeneeded = () => {
        opening.result.createObjectStore('inline', {keyPath: 'id'}).createIndex('by name', ['name', 'id'], {unique: true});
        opening.result.createObjectStore('plain', {autoIncrement: true});
    };
    opening.onsuccess = () => {
        const writing = opening.result.transaction(['inline', 'plain'], 'readwrite');
        const round = {name: 'round'}; round.self = round;
        writing.objectStore('inline').put({id: 1, name: 'one', deep: [{a: null}]});
        const bytes = new Uint16Array([1, 500]), odd = [undefined, NaN, -0, 2n];
        writing.objectStore('plain').put({when: new Date(0), bytes, odd, round, exp: /a/g});
        writing.objectStore('plain').put(new Blob(['lost']));
        writing.objectStore('plain').put('by date', new Date(1));
        writing.oncomplete = () => { opening.result.close(); resolve(true); };
    };
})"""
LOOK = """new Promise(resolve => {
    const opening = indexedDB.open('kept');
    opening.onsuccess = () => {
        const reading = opening.result.transaction(['inline', 'plain']);
        const one = reading.objectStore('inline').index('by name').get(['one', 1]);
        const all = reading.objectStore('plain').getAll(), keys = reading.objectStore('plain').getAllKeys();
        reading.oncomplete = () => {
            const {when, bytes, odd, round, exp} = all.result.find(each => each.when);
            resolve([opening.result.version, one.result.deep[0].a, when.getTime(), bytes.constructor.name, bytes[1], typeof odd[0],
                     Object.is(odd[1], NaN), Object.is(odd[2], -0), typeof odd[3], round.self === round, exp.source,
                     keys.result.some(key => key instanceof Date)]);
            opening.result.close();
        };
    };
})"""
SEEN = [3, None, 0, "Uint16Array", 500, "undefined", True, True, "bigint", True, "a", True]


async def is_kept(storage: Storage, wanted: dict[str, Stored]) -> bool:
    return await storage.read(wanted) == wanted


async def test_items_of_an_origin_are_read_whether_or_not_it_is_open(devtools: Devtools, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    await asyncio.to_thread(tab.run, "localStorage.setItem('key', 'välue')")
    storage = Storage(devtools)
    assert site in await storage.origins()
    kept = {site: Stored([{"name": "key", "value": "välue"}], [])}
    # The browser passes it on from one process to another in its own time.
    await eventually(lambda: is_kept(storage, kept))
    await asyncio.to_thread(tab.go, "about:blank")
    assert await storage.read([site]) == kept
    assert await storage.read(["https://nobody.example"]) == {}


async def test_items_are_there_for_the_next_page(devtools: Devtools, tab: Tab, site: str) -> None:
    await Storage(devtools).write({site: Stored([{"name": "made", "value": "</script>'\"\u2028"}], [])})
    await asyncio.to_thread(tab.go, f"{site}/page")
    assert await asyncio.to_thread(tab.run, "localStorage.getItem('made')") == "</script>'\"\u2028"


async def test_half_a_surrogate_pair_is_kept_as_it_is(devtools: Devtools, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    await asyncio.to_thread(tab.run, "localStorage.clear()")
    half = Stored([{"name": "\ud800", "value": "\udfff"}], [])
    await Storage(devtools).write({site: half})
    await eventually(lambda: is_kept(Storage(devtools), {site: half}))
    await asyncio.to_thread(tab.run, "localStorage.clear()")


async def test_databases_are_read_and_made_again(devtools: Devtools, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    await asyncio.to_thread(tab.run, MAKE)
    read = (await Storage(devtools).read([site]))[site]
    assert (read.databases[0]["name"], read.left) == ("kept", "1 records that JSON has no form for")
    await asyncio.to_thread(tab.run, "new Promise(done => indexedDB.deleteDatabase('kept').onsuccess = done)")
    await Storage(devtools).write({site: read})
    assert await asyncio.to_thread(tab.run, LOOK) == SEEN
    await Storage(devtools).write({site: read})  # over what is there
    assert await asyncio.to_thread(tab.run, LOOK) == SEEN
    await asyncio.to_thread(tab.run, "new Promise(done => indexedDB.deleteDatabase('kept').onsuccess = done)")


async def test_nobody_sees_the_visitor(devtools: Devtools, shared: Any, site: str) -> None:
    before = [info["id"] for info in shared.get("/json/list")]
    await Storage(devtools).write({site: Stored([{"name": "a", "value": "1"}], [])})
    assert [info["id"] for info in shared.get("/json/list")] == before
    assert [exchange for exchange in devtools.traffic if exchange.url == f"{site}/"] == []


async def test_what_does_not_fit_is_a_conflict_that_names_the_origin(devtools: Devtools, site: str) -> None:
    with pytest.raises(Conflict, match=r"127\.0\.0\.1.*quota"):
        await Storage(devtools).write({site: Stored([{"name": "large", "value": "x" * (6 << 20)}], [])})
