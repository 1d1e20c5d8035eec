"""The record of calls in the store."""

import pytest
from tandem_fleet.store import audit as module
from tandem_fleet.store.audit import AuditStore, Entry
from tandem_fleet.store.database import Database

pytestmark = pytest.mark.anyio


async def add(store: AuditStore, tenant: str, call: str = "POST /v1/sandboxes") -> None:
    """An entry of which only the call matters."""
    await store.add(tenant, "ci (abc)", address="10.0.0.1", request="7", call=call, status=201)


async def calls(store: AuditStore, tenant: str) -> list[str]:
    """The calls of a tenant, the newest first."""
    return [entry.call for entry in await store.page(tenant)]


async def test_entries_come_the_newest_first_by_pages_and_by_tenant(database: Database) -> None:
    store = AuditStore(database)
    for number in range(5):
        await add(store, "one", f"POST /{number}")
        await add(store, "two", "POST /other")
    found: list[Entry] = []
    while page := await store.page("one", before=found[-1].number if found else None, limit=2):
        found += page
    assert [entry.call for entry in found] == ["POST /4", "POST /3", "POST /2", "POST /1", "POST /0"]
    assert found[0].at.tzinfo
    assert await store.page("three") == []


async def test_what_was_sent_is_escaped_and_cut(database: Database) -> None:
    store = AuditStore(database)
    await add(store, "one", "GET /\x1b[2J\n\u202e\0\udcff" + "x" * 10_000)
    [said] = await calls(store, "one")
    assert said.startswith("GET /\\x1b[2J\\n\\u202e\\x00\\udcffxxx")
    assert len(said) == module.CALL


async def test_the_oldest_of_a_tenant_go_and_nobody_elses(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 10)
    monkeypatch.setattr(module, "TRIM_EVERY", 5)
    store = AuditStore(database)
    await add(store, "one", "POST /first")
    for number in range(40):
        await add(store, "two", f"POST /{number}")
    kept = await calls(store, "two")
    assert kept[0] == "POST /39"
    assert 10 <= len(kept) <= 15
    assert await calls(store, "one") == ["POST /first"]
