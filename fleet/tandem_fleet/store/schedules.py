"""Times at which sandboxes wake, in the store."""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import RowMapping, delete, func, insert, select, update

from tandem_fleet.errors import ConflictError
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import schedules


@dataclass(frozen=True)
class Schedule:
    """When a sandbox wakes next, and every how many seconds after that."""

    id: str
    sandbox: str
    at: datetime
    every_seconds: int | None


class ScheduleStore:
    """The schedules of all sandboxes."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def add(self, schedule: Schedule, *, most: int) -> Schedule:
        """Keep one. Raises `ConflictError` where the sandbox has `most`."""
        row = {"id": schedule.id, "sandbox": schedule.sandbox, "at": schedule.at, "every_seconds": schedule.every_seconds}
        async with self.database.writing() as connection:
            kept = await connection.execute(select(func.count()).select_from(schedules).where(schedules.c.sandbox == schedule.sandbox))
            if kept.scalar_one() >= most:
                raise ConflictError(f"a sandbox has {most} schedules at most")
            await connection.execute(insert(schedules).values(row))
        return schedule

    @whole
    async def of(self, sandbox: str) -> list[Schedule]:
        """A sandbox's schedules, the next first."""
        async with self.database.reading() as connection:
            rows = (await connection.execute(select(schedules).where(schedules.c.sandbox == sandbox).order_by(schedules.c.at))).mappings()
            return [_read(row) for row in rows]

    @whole
    async def next(self) -> Schedule | None:
        """The one that comes first of all."""
        async with self.database.reading() as connection:
            row = (await connection.execute(select(schedules).order_by(schedules.c.at).limit(1))).mappings().one_or_none()
        return _read(row) if row else None

    @whole
    async def passed(self, schedule: Schedule, again: datetime | None) -> Schedule | None:
        """Set the next time, or forget it where there is none."""
        row = schedules.c.id == schedule.id
        async with self.database.writing() as connection:
            await connection.execute(delete(schedules).where(row) if again is None else update(schedules).where(row).values(at=again))
        return replace(schedule, at=again) if again else None

    @whole
    async def remove(self, sandbox: str, schedule: str | None = None) -> bool:
        """Remove one, or all of a sandbox; whether there was any."""
        wanted = schedules.c.sandbox == sandbox
        if schedule is not None:
            wanted &= schedules.c.id == schedule
        async with self.database.writing() as connection:
            return bool((await connection.execute(delete(schedules).where(wanted))).rowcount)


def _read(row: RowMapping) -> Schedule:
    return Schedule(row["id"], row["sandbox"], aware(row["at"]), row["every_seconds"])
