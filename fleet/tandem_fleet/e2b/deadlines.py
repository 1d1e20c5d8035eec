"""Ends sandboxes when their time is over. What ends when is in the store: a service that was started again goes on."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.e2b.origin import origin_of
from tandem_fleet.errors import ConflictError, FleetError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, State
from tandem_fleet.store.e2b import DeadlineStore
from tandem_fleet.store.sandboxes import SandboxStore

LOOK_SECONDS = 60.0
"""How often sandboxes without an end are looked for: of a service that was killed after it made one."""
AT_ONCE = 64
AGAIN = timedelta(seconds=2)
"""When a sandbox that cannot be ended now is tried again."""
_log = logging.getLogger(__name__)


class Deadlines:
    """The loop."""

    def __init__(self, fleet: Fleet, store: DeadlineStore) -> None:
        self._fleet = fleet
        self._store = store
        self._sandboxes = SandboxStore(fleet.database)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Give an end to those that have none yet, then go on by itself."""
        await self._find_endless()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; what was begun is gone on with by the next one."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        look_at = loop.time() + LOOK_SECONDS
        while True:
            seen = self._fleet.database.changes
            wait = LOOK_SECONDS
            try:
                if loop.time() >= look_at:
                    await self._find_endless()
                    look_at = loop.time() + LOOK_SECONDS
                wait = await self.end_due()
            except (FleetError, SQLAlchemyError, OSError, ValueError, ArithmeticError):
                _log.exception("cannot end sandboxes whose time is over")
                wait = AGAIN.total_seconds()
            if wait > 0:
                await self._fleet.database.wait_for_change(seen, min(wait, LOOK_SECONDS))

    async def end_due(self) -> float:
        """End those whose time is over; gives the seconds until the next."""
        due = await self._store.first(AT_ONCE)
        for sandbox, ends_at in due:
            left = (ends_at - datetime.now(UTC)).total_seconds()
            if left > 0:
                return left
            try:
                found = await self._fleet.get(sandbox)
                if await self._store.get(sandbox) == ends_at:  # nobody gave it another one meanwhile
                    await self._end(found, ends_at)
            except NotFoundError:
                await self._store.forget(sandbox)
            except ConflictError:
                await self._store.set(sandbox, datetime.now(UTC) + AGAIN, extend=True)
        return 0.0 if len(due) == AT_ONCE else LOOK_SECONDS

    async def _end(self, sandbox: Sandbox, ends_at: datetime) -> None:
        origin = origin_of(sandbox)
        asleep = sandbox.state in (State.PAUSED, State.STOPPED) and origin.pauses
        if not asleep and sandbox.desired != Desired.DELETED:
            desired = Desired.DELETED
            if origin.pauses and sandbox.state != State.FAILED:
                desired = Desired.PAUSED if origin.keeps_memory else Desired.STOPPED
            await self._fleet.order(sandbox.tenant, sandbox.id, desired)
        await self._store.forget(sandbox.id, until=ends_at)

    async def _find_endless(self) -> None:
        """Give an end to sandboxes that run and have none: made by a service that was killed then, or woken by another protocol."""
        now = datetime.now(UTC)
        known = {sandbox for sandbox, _ in await self._store.first(1_000_000)}
        async for sandbox in self._sandboxes.all():
            origin = origin_of(sandbox)
            if origin.known and sandbox.id not in known and sandbox.desired == Desired.RUNNING:
                first = origin.ends_first(sandbox.created_at)
                await self._store.set(sandbox.id, first if first > now else origin.ends_first(now), extend=True)
