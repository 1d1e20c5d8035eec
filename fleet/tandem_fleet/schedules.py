"""Wakes sandboxes at times that were said before."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.errors import FleetError, InvalidError, NotFoundError
from tandem_fleet.sandboxes import Desired, Sandbox, State, new_id
from tandem_fleet.store.schedules import Schedule, ScheduleStore

NEWS_SECONDS = 15.0
"""How long a schedule that another process made may stay unseen."""
MOST = 100
"""Schedules of one sandbox."""
SHORTEST_SECONDS, LONGEST_SECONDS = 60, 31_622_400
LAST_YEAR = 2200
_log = logging.getLogger(__name__)

Wake = Callable[[Sandbox], Awaitable[object]]


def following(at: datetime, every: int, now: datetime) -> datetime:
    """The first time after `now` that is a whole number of intervals behind `at`: times that were missed are not made up for."""
    missed = max(0, int((now - at).total_seconds() // every)) + 1
    return at + timedelta(seconds=missed * every)


class Schedules:
    """The times of all sandboxes. `wake` has a sandbox run."""

    def __init__(
        self, store: ScheduleStore, get: Callable[[str], Awaitable[Sandbox]], wake: Callable[[Sandbox], Awaitable[object]]
    ) -> None:
        self._store = store
        self._get = get
        self._wake = wake
        self._news = asyncio.Event()

    async def add(self, sandbox: Sandbox, at: datetime | None, every_seconds: int | None) -> Schedule:
        """Wake a sandbox at a time, every so many seconds, or both: from then on. Raises `InvalidError`, `ConflictError`."""
        if at is None and every_seconds is None:
            raise InvalidError("say at what time, or every how many seconds")
        if at is not None and at.tzinfo is None:
            raise InvalidError("the time needs its zone: 2030-01-01T08:00:00Z")
        if at is not None and not 2000 <= at.year <= LAST_YEAR:
            raise InvalidError(f"the time is not between the years 2000 and {LAST_YEAR}")
        if every_seconds is not None and not SHORTEST_SECONDS <= every_seconds <= LONGEST_SECONDS:
            raise InvalidError(f"every {SHORTEST_SECONDS} to {LONGEST_SECONDS} seconds")
        first = at or datetime.now(UTC) + timedelta(seconds=every_seconds or 0)
        made = await self._store.add(Schedule(new_id(), sandbox.id, first.astimezone(UTC), every_seconds), most=MOST)
        self._news.set()
        return made

    async def of(self, sandbox: Sandbox) -> list[Schedule]:
        """A sandbox's times, the next first."""
        return await self._store.of(sandbox.id)

    async def remove(self, sandbox: Sandbox, schedule: str) -> None:
        """Forget one. Raises `NotFoundError`."""
        if not await self._store.remove(sandbox.id, schedule):
            raise NotFoundError(f"{sandbox.name} has no schedule {schedule!r}")

    async def run(self) -> None:
        """Wake each when its time comes, without end. What was due while no service ran is woken at once."""
        while True:
            self._news.clear()
            wait = NEWS_SECONDS
            try:
                if (schedule := await self._store.next()) is not None:
                    wait = (schedule.at - datetime.now(UTC)).total_seconds()
                    if wait <= 0:
                        await self._come(schedule)
                        continue
            except (FleetError, SQLAlchemyError, OSError):
                _log.exception("cannot wake what is due")
                wait = NEWS_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(min(wait, NEWS_SECONDS)):
                    await self._news.wait()

    async def _come(self, schedule: Schedule) -> None:
        """Wake, then set the next time: one that is killed in between wakes again."""
        now = datetime.now(UTC)
        with suppress(NotFoundError):
            sandbox = await self._get(schedule.sandbox)
            if sandbox.desired == Desired.DELETED or sandbox.state == State.DELETED:
                await self._store.remove(schedule.sandbox)
                return
            try:
                await self._wake(sandbox)
            except FleetError as error:
                _log.warning("cannot wake %s: %s", sandbox.name, error)
        again = following(schedule.at, schedule.every_seconds, now) if schedule.every_seconds else None
        await self._store.passed(schedule, again)
