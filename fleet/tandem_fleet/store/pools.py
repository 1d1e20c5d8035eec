"""Sandboxes that wait in pools, in the store."""

from dataclasses import dataclass

from sqlalchemy import select

from tandem_fleet.sandboxes import Sandbox, Spec, State
from tandem_fleet.store.database import Database, whole
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tables import pool_members, sandboxes

NOBODY = ""
"""The tenant of a sandbox that waits: no tenant sees it."""


@dataclass(frozen=True)
class Member:
    """A sandbox that waits."""

    sandbox: str
    pool: str
    state: State
    reason: str


class PoolStore:
    """The members of all pools."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._sandboxes = SandboxStore(database)

    async def add(self, sandbox: str, pool: str, spec: Spec) -> Sandbox:
        """Add a sandbox that shall wait in a pool."""
        return await self._sandboxes.create(sandbox, sandbox, NOBODY, spec, pool=pool)

    @whole
    async def members(self) -> list[Member]:
        """All that wait, the oldest first."""
        wanted = (
            select(pool_members.c.sandbox, pool_members.c.pool, sandboxes.c.state, sandboxes.c.reason)
            .join(sandboxes, sandboxes.c.id == pool_members.c.sandbox)
            .order_by(sandboxes.c.number)
        )
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted)).all()
        return [Member(row.sandbox, row.pool, State(row.state), row.reason) for row in rows]

    @whole
    async def waits(self, sandbox: str) -> bool:
        """Whether a sandbox waits in a pool."""
        async with self.database.reading() as connection:
            found = await connection.execute(select(pool_members.c.sandbox).where(pool_members.c.sandbox == sandbox))
            return found.scalar_one_or_none() is not None

    async def retire(self, sandbox: str) -> bool:
        """Have a member deleted; False where it is none any more."""
        return await self._sandboxes.retire(sandbox)
