"""The whole store as lines of JSON, from one moment, and a store made of them. SQLite and PostgreSQL read each other's."""

import itertools
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, DateTime, Integer, MetaData, Table, func, insert, select, text

from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.store.database import Database, aware, migrate, revision
from tandem_fleet.store.tables import metadata

FORMAT = 1
AT_ONCE = 500
"""Rows that are read and written at once."""


async def dump(database: Database, key: str) -> AsyncIterator[str]:
    """A head, the rows of all tables as they were at one moment, and their number as the end. `key` is the signing key's number."""
    count = 0
    async with database.snapshot() as connection:
        head = {"format": FORMAT, "revision": await connection.run_sync(revision), "key": key}
        yield json.dumps(head | {"at": datetime.now(UTC).isoformat()})
        for table in metadata.sorted_tables:
            rows = await connection.stream(select(table).order_by(*table.primary_key.columns), execution_options={"yield_per": AT_ONCE})
            async for row in rows.mappings():
                count += 1
                yield json.dumps({"table": table.name, "row": {name: _plain(value) for name, value in row.items()}})
    yield json.dumps({"end": count})


async def load(database: Database, lines: AsyncIterator[str]) -> tuple[int, str]:
    """Fill a new store, and bring it to this version's form. Gives the number of rows, and of the signing key.

    Raises `ConflictError` for a store that has tables, `InvalidError` for what is no whole backup: nothing is written then.
    """
    head, rows = await _read(lines)
    async with database.writing() as connection:
        await connection.run_sync(_fill, str(head["revision"]), rows)
    return len(rows), str(head.get("key", ""))


async def _read(lines: AsyncIterator[str]) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    head: dict[str, Any] = {}
    rows: list[tuple[str, dict[str, Any]]] = []
    try:
        async for line in lines:
            one = json.loads(line)
            if not head:
                head = one
                if head.get("format") != FORMAT or not isinstance(head.get("revision"), str):
                    raise InvalidError("this is no backup that this version reads")
            elif "end" in one:
                if one["end"] != len(rows):
                    raise InvalidError(f"the backup has {len(rows)} rows and says {one['end']}")
                return head, rows
            else:
                rows.append((one["table"], one["row"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidError(f"this is no backup: {error}") from error
    raise InvalidError("the backup has no end: it was cut")


def _fill(connection: Connection, made_by: str, rows: list[tuple[str, dict[str, Any]]]) -> None:
    found = MetaData()
    found.reflect(connection)
    if found.tables:
        raise ConflictError("the store is not empty: restore into a new one")
    migrate(connection, made_by)
    found.reflect(connection)
    for table in metadata.sorted_tables:
        if table.name in found.tables:
            connection.execute(found.tables[table.name].delete())
    for name, group in itertools.groupby(rows, key=lambda one: one[0]):
        if name not in found.tables:
            raise InvalidError(f"this is no backup: it has a table {name!r}")
        typed = [_typed(found.tables[name], row) for _, row in group]
        for begin in range(0, len(typed), AT_ONCE):
            connection.execute(insert(found.tables[name]), typed[begin : begin + AT_ONCE])
    if connection.dialect.name == "postgresql":
        for table in found.tables.values():
            _count_on(connection, table)
    migrate(connection)


def _count_on(connection: Connection, table: Table) -> None:
    """Have the next number follow the highest."""
    for column in table.primary_key.columns:
        if isinstance(column.type, Integer) and column.server_default is not None:
            highest = connection.execute(select(func.max(column))).scalar()
            if highest:
                serial = text("SELECT setval(pg_get_serial_sequence(:table, :column), :highest)")
                connection.execute(serial, {"table": table.name, "column": column.name, "highest": highest})


def _plain(value: Any) -> Any:
    return aware(value).isoformat() if isinstance(value, datetime) else value


def _typed(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times as times."""
    times = {name for name, value in row.items() if value is not None and name in table.c and isinstance(table.c[name].type, DateTime)}
    return {name: datetime.fromisoformat(value) if name in times else value for name, value in row.items()}
