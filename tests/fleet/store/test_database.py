"""The database, in SQLite."""

import asyncio

import pytest
from sqlalchemy import Connection, inspect
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tables import metadata

pytestmark = pytest.mark.anyio
SPEC = Spec(image="image", environment={"A": "b"})


async def test_who_waits_for_a_change_hears_of_one_that_came_before_it_waited(database: Database) -> None:
    seen = database.changes
    await SandboxStore(database).create(new_id(), "work", "default", SPEC)
    async with asyncio.timeout(30):
        await database.wait_for_change(seen, 60)


async def test_what_was_written_is_there_after_the_process_was_killed(store_url: str) -> None:
    first = Database(store_url)
    await first.prepare()
    one = await SandboxStore(first).create(new_id(), "work", "default", SPEC)
    second = Database(store_url)
    await second.prepare()
    assert await SandboxStore(second).get(one.id) == one
    await first.close()
    await second.close()


async def test_the_migrations_make_the_tables_that_the_code_reads(database: Database) -> None:
    def look(connection: Connection) -> tuple[dict[str, set[str]], set[str | None]]:
        seen = inspect(connection)
        columns = {table: {column["name"] for column in seen.get_columns(table)} for table in metadata.tables}
        return columns, {index["name"] for table in metadata.tables for index in seen.get_indexes(table)}

    async with database.reading() as connection:
        columns, indexes = await connection.run_sync(look)
    assert columns == {name: {column.name for column in table.columns} for name, table in metadata.tables.items()}
    assert {index.name for table in metadata.tables.values() for index in table.indexes} <= indexes


@pytest.mark.postgresql
async def test_several_that_start_at_once_migrate_one_after_the_other(store_url: str) -> None:
    opened = [Database(store_url) for _ in range(3)]
    await asyncio.gather(*(one.prepare() for one in opened))
    for one in opened:
        await one.close()


async def test_who_waits_for_a_sandbox_is_woken_by_that_one_alone(database: Database) -> None:
    store = SandboxStore(database)
    one, two = [await store.create(new_id(), name, "default", SPEC) for name in ("one", "two")]
    with database.watching(one.id) as news, database.watching(one.id) as also:
        await store.change(two.id, reason="x")
        assert not news.is_set()
        await store.change(one.id, reason="x")
        assert news.is_set()
        assert also.is_set()
    assert database._watched == {}
