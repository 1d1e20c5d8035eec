"""Makes sandboxes ready for requests: of many requests at once, one wakes."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

from tandem_fleet.errors import ConflictError, FleetError, NotFoundError, SandboxFailedError
from tandem_fleet.feed import NEWS_SECONDS
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, State

MOST_SEEN = 10_000
_ASLEEP = (Desired.PAUSED, Desired.STOPPED)


def is_open(sandbox: Sandbox) -> bool:
    """Whether requests may go to it now."""
    return sandbox.state == State.READY and sandbox.desired == Desired.RUNNING and bool(sandbox.address)


@dataclass(frozen=True)
class _Seen:
    """A sandbox as the store had it after so many changes of this process."""

    sandbox: Sandbox
    changes: int
    at: float

    @property
    def open(self) -> Sandbox | None:
        return self.sandbox if self.sandbox.desired != Desired.DELETED else None


class Waking:
    """Wakes the sandboxes of a fleet. A request waits `seconds` at most."""

    def __init__(self, fleet: Fleet, seconds: float) -> None:
        self.seconds = seconds
        self._fleet = fleet
        self._running: dict[str, asyncio.Task[FleetError | None]] = {}
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    async def find(self, sandbox: str) -> Sandbox | None:
        """A sandbox, unless there is none or it is being deleted.

        As long as this process changes nothing, the store is not asked again within a second.
        """
        seen = self._seen.get(sandbox)
        if seen and seen.changes == self._fleet.database.changes and time.monotonic() - seen.at < NEWS_SECONDS:
            return seen.open
        return await self._look(sandbox)

    async def _look(self, sandbox: str) -> Sandbox | None:
        """The same, as the store has it now."""
        changes, now = self._fleet.database.changes, time.monotonic()
        try:
            seen = _Seen(await self._fleet.get(sandbox), changes, now)
        except NotFoundError:
            return None
        self._seen[sandbox] = seen
        self._seen.move_to_end(sandbox)
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return seen.open

    async def wake(self, sandbox: Sandbox, seconds: float) -> Sandbox | None:
        """Have it run, and wait until it is ready, has failed, or `seconds` are over; gives what it then is.

        Raises `QuotaError` and the like where it may not run.
        """
        task = self._running.get(sandbox.id)
        if task is None:
            task = self._running[sandbox.id] = asyncio.create_task(self._wake(sandbox))
            task.add_done_callback(lambda _: self._running.pop(sandbox.id, None))
        await asyncio.wait({task}, timeout=min(seconds, self.seconds))
        if task.done() and not task.cancelled() and (refusal := task.result()):
            raise refusal
        return await self._look(sandbox.id)

    async def news(self, seconds: float) -> None:
        """Return when something became of some sandbox, or after some seconds."""
        await self._fleet.database.wait_for_change(self._fleet.database.changes, min(seconds, NEWS_SECONDS))

    async def close(self) -> None:
        """Wait for no sandbox any more."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wake(self, sandbox: Sandbox) -> FleetError | None:
        try:
            if sandbox.desired in _ASLEEP:
                await self._fleet.order(sandbox.tenant, sandbox.id, Desired.RUNNING)
            await self._fleet.settle(sandbox.id, self.seconds)
        except (NotFoundError, ConflictError, SandboxFailedError, TimeoutError):
            return None  # its state says so
        except FleetError as refusal:
            return refusal
        return None
