"""What holds for the whole fleet, in the store."""

from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.store.database import Database, whole
from tandem_fleet.store.tables import facts

DRAINING = "draining"
"""Nothing new is made or started."""


class FactStore:
    """Facts by name."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def set(self, name: str, value: Any) -> None:
        """Have it hold from now on; None: no longer."""
        async with self.database.writing() as connection:
            await connection.execute(delete(facts).where(facts.c.name == name))
            if value is not None:
                await connection.execute(insert(facts).values(name=name, value=value))

    @whole
    async def get(self, name: str) -> Any:
        """What holds; None where nothing does."""
        async with self.database.reading() as connection:
            return await fact(connection, name)


async def fact(connection: AsyncConnection, name: str) -> Any:
    """The same on a connection."""
    return (await connection.execute(select(facts.c.value).where(facts.c.name == name))).scalar_one_or_none()
