"""When sandboxes that were made by E2B's protocol end."""

from datetime import datetime

from sqlalchemy import delete, insert, select, update

from tandem_fleet.sandboxes import State
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import e2b_deadlines, sandboxes


class DeadlineStore:
    """Sandboxes with the time at which each ends. One that is not here has no end."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def set(self, sandbox: str, ends_at: datetime, *, extend: bool = False) -> None:
        """Have a sandbox end at a time; with `extend` not sooner than it would."""
        async with self.database.writing() as connection:
            chosen = e2b_deadlines.c.sandbox == sandbox
            row = (await connection.execute(select(e2b_deadlines).where(chosen))).mappings().one_or_none()
            if row is None:
                await connection.execute(insert(e2b_deadlines).values(sandbox=sandbox, ends_at=ends_at))
            elif not extend or aware(row["ends_at"]) < ends_at:
                await connection.execute(update(e2b_deadlines).where(chosen).values(ends_at=ends_at))
        await self.database.announce()

    @whole
    async def forget(self, sandbox: str, *, until: datetime | None = None) -> None:
        """Have a sandbox no end; with `until` only where its end is not later."""
        chosen = e2b_deadlines.c.sandbox == sandbox
        if until is not None:
            chosen &= e2b_deadlines.c.ends_at <= until
        async with self.database.writing() as connection:
            await connection.execute(delete(e2b_deadlines).where(chosen))

    @whole
    async def get(self, sandbox: str) -> datetime | None:
        """When a sandbox ends."""
        async with self.database.reading() as connection:
            wanted = select(e2b_deadlines.c.ends_at).where(e2b_deadlines.c.sandbox == sandbox)
            at = (await connection.execute(wanted)).scalar_one_or_none()
        return aware(at) if at else None

    @whole
    async def first(self, limit: int) -> list[tuple[str, datetime]]:
        """Those that end next, the first first."""
        wanted = select(e2b_deadlines).order_by(e2b_deadlines.c.ends_at).limit(limit)
        async with self.database.reading() as connection:
            return [(row["sandbox"], aware(row["ends_at"])) for row in (await connection.execute(wanted)).mappings()]

    @whole
    async def live(self) -> list[str]:
        """The ids of all sandboxes that are not deleted."""
        wanted = select(sandboxes.c.id).where(sandboxes.c.state != State.DELETED)
        async with self.database.reading() as connection:
            return list((await connection.execute(wanted)).scalars())
