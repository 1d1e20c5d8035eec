"""The whole store as lines, and a store made of them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.sandboxes import Spec, State, new_id
from tandem_fleet.store import backup
from tandem_fleet.store.audit import AuditStore
from tandem_fleet.store.backup import dump, load
from tandem_fleet.store.database import Database, migrate
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tables import metadata
from tandem_fleet.store.tenants import TenantStore

from tests.fleet import postgresql

pytestmark = pytest.mark.anyio


async def fill(database: Database, sandboxes: int = 3) -> None:
    """Something in each area."""
    store, tenants = SandboxStore(database), TenantStore(database)
    await tenants.create("one")
    await tenants.create_key("one", "ci", ["sandboxes:read"], None)
    for number in range(sandboxes):
        made = await store.create(new_id(), f"s{number}", "one", Spec(environment={"A": "ü\n"}), key=f"k{number}")
        await store.change(made.id, state=State.READY)
    await AuditStore(database).add("one", "ci", address="", request="", call="POST /", status=201)


async def rows(database: Database) -> list[str]:
    """All that there is, as text that does not depend on the database, and the end."""
    return [line async for line in dump(database, "key")][1:]


async def lines(*given: str) -> AsyncIterator[str]:
    """The lines."""
    for line in given:
        yield line


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Database]:
    """A new store, without tables."""
    opened = Database(f"sqlite+aiosqlite:///{tmp_path}/restored.db")
    yield opened
    await opened.close()


async def test_a_restored_store_is_the_same_and_goes_on(database: Database, empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "AT_ONCE", 2)
    await fill(database)
    count, key = await load(empty, dump(database, "key"))
    assert (count, key) == (len(await rows(database)) - 1, "key")
    assert await rows(empty) == await rows(database)
    await empty.prepare()
    assert (await SandboxStore(empty).find("one", "s1")).state == State.READY
    again = await SandboxStore(empty).create(new_id(), "more", "one", Spec())
    assert (await SandboxStore(empty).page("one"))[-1][1] == again


@pytest.mark.sqlite
async def test_what_sqlite_held_is_restored_into_postgresql_and_its_numbers_go_on(
    database: Database, request: pytest.FixtureRequest
) -> None:
    if postgresql.PROGRAMS is None:
        pytest.skip("PostgreSQL is not installed")
    await fill(database)
    other = Database(postgresql.database(request.getfixturevalue("postgresql_cluster"), f"restored{new_id()}"))
    await load(other, dump(database, "key"))
    assert await rows(other) == await rows(database)
    await SandboxStore(other).create(new_id(), "more", "one", Spec())
    assert [sandbox.name for _, sandbox in await SandboxStore(other).page("one")] == ["s0", "s1", "s2", "more"]
    await other.close()


async def test_a_backup_is_of_one_moment(database: Database) -> None:
    await fill(database, 5)
    telling = dump(database, "key")
    head = await anext(telling)
    first = await anext(telling)
    await SandboxStore(database).create(new_id(), "later", "one", Spec())
    rest = [line async for line in telling]
    assert json.loads(head)["format"] == 1
    assert "later" not in "".join([first, *rest])
    assert "s4" in "".join(rest)


async def test_a_store_that_is_not_empty_is_left_as_it_is(database: Database, empty: Database) -> None:
    await fill(database)
    await empty.prepare()
    with pytest.raises(ConflictError, match="not empty"):
        await load(empty, dump(database, "key"))
    assert await SandboxStore(empty).page() == []


async def test_what_is_no_whole_backup_is_refused_and_nothing_is_written(database: Database, empty: Database) -> None:
    await fill(database)
    whole = [line async for line in dump(database, "key")]
    for given in (
        [],
        whole[:-1],
        whole[:3] + whole[4:],
        ["x"],
        ["[]"],
        ['{"format": 2}'],
        [whole[0], '{"row": {}}'],
        [whole[0], "[" * 10_000],
    ):
        with pytest.raises(InvalidError):
            await load(empty, lines(*given))
    strange = [whole[0], '{"table": "nowhere", "row": {}}', '{"end": 1}']
    with pytest.raises(InvalidError, match="nowhere"):
        await load(empty, lines(*strange))
    await load(empty, lines(*whole))
    assert await rows(empty) == whole[1:]


@pytest.mark.sqlite
async def test_a_backup_of_an_earlier_version_is_brought_to_this_ones_form(empty: Database, tmp_path: Path) -> None:
    spec = Spec().model_dump(mode="json")
    at = "2026-11-24T00:00:00+00:00"
    row = {"number": 7, "id": "a", "name": "work", "tenant": "default", "spec": spec, "desired": "running", "state": "ready", "reason": ""}
    row |= {"address": "", "failures": 0, "created_at": at, "changed_at": at}
    given = [json.dumps({"format": 1, "revision": "0001", "key": "k"}), json.dumps({"table": "sandboxes", "row": row}), '{"end": 1}']
    await load(empty, lines(*given))
    assert (await SandboxStore(empty).find("default", "work")).state == State.READY
    assert [one.id for one in await TenantStore(empty).all()] == ["default"]
    async with empty.reading() as connection:
        [used] = (await connection.execute(select(metadata.tables["usage"]))).mappings().all()
    assert (used["sandbox"], used["kind"], used["ended_ms"]) == ("a", "running", None)


async def test_a_store_of_the_first_version_is_brought_to_this_ones_form(store_url: str) -> None:
    opened = Database(store_url)
    async with opened.writing() as connection:
        await connection.run_sync(migrate, "0001")
    await opened.prepare()
    await fill(opened)
    await opened.prepare()
    assert len(await SandboxStore(opened).page("one")) == 3
    await opened.close()
