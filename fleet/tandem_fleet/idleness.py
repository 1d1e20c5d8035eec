"""Pauses, stops and removes sandboxes that nobody uses.

A sandbox is asked no sooner than it could be idle for long enough: one that is used is asked once in the time that its policy says.
"""

import asyncio
import heapq
import logging
import math
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.errors import FleetError, SandboxFailedError
from tandem_fleet.sandbox_client import SandboxClient
from tandem_fleet.sandboxes import Desired, Sandbox, State

AT_ONCE = 8
"""Sandboxes that are asked at the same time."""
SHORTEST = 0.2
"""Seconds between two looks at the same sandbox, at least."""
UNKNOWN_SECONDS = 60.0
"""When a sandbox is asked again that did not say whether it is used, at least."""
LONGEST_SLEEP = 30.0
"""How long a change of the clock may stay unseen."""
_log = logging.getLogger(__name__)

Change = Callable[[Sandbox, Desired], Awaitable[object]]


def next_stage(sandbox: Sandbox) -> tuple[Desired, float] | None:
    """What becomes of a sandbox next while nobody uses it, and after how many seconds; None where nothing does."""
    policy = sandbox.spec.idle
    if policy is None:
        return None
    stages = {
        (State.READY, Desired.RUNNING): ((Desired.PAUSED, policy.pause_after_minutes), (Desired.STOPPED, policy.stop_after_minutes)),
        (State.PAUSED, Desired.PAUSED): ((Desired.STOPPED, policy.stop_after_minutes),),
        (State.STOPPED, Desired.STOPPED): ((Desired.DELETED, policy.delete_after_minutes),),
    }
    for desired, minutes in stages.get((sandbox.state, sandbox.desired), ()):
        if minutes is not None:
            return desired, minutes * 60
    return None


class IdleWatch:
    """Knows when each sandbox is looked at next. `change` has a sandbox that is still as it was seen become something else."""

    def __init__(self, client: SandboxClient, get: Callable[[str], Awaitable[Sandbox]], change: Change) -> None:
        self._client = client
        self._get = get
        self._change = change
        self._due: dict[str, float] = {}
        self._queue: list[tuple[float, str]] = []
        self._news = asyncio.Event()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._looks: set[asyncio.Task[None]] = set()

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox became what it is now."""
        if (stage := next_stage(sandbox)) is None:
            self._due.pop(sandbox.id, None)
            if len(self._queue) > 1000 + 2 * len(self._due):
                self._queue = sorted((at, one) for one, at in self._due.items())
        else:
            self._look_at(sandbox.id, sandbox.changed_at.timestamp() + stage[1])

    def _look_at(self, sandbox: str, at: float) -> None:
        self._due[sandbox] = at
        heapq.heappush(self._queue, (at, sandbox))
        if self._queue[0] == (at, sandbox):
            self._news.set()

    async def run(self) -> None:
        """Look at each sandbox when it is due, without end."""
        try:
            while True:
                self._news.clear()
                wait = min(LONGEST_SLEEP, self._queue[0][0] - time.time()) if self._queue else LONGEST_SLEEP
                if wait > 0:
                    try:
                        async with asyncio.timeout(wait):
                            await self._news.wait()
                    except TimeoutError:
                        pass
                    continue
                at, sandbox = heapq.heappop(self._queue)
                if self._due.get(sandbox) == at:
                    del self._due[sandbox]
                    await self._places.acquire()
                    look = asyncio.create_task(self._look(sandbox))
                    self._looks.add(look)
                    look.add_done_callback(self._ended)
        finally:
            for look in self._looks:
                look.cancel()
            await asyncio.gather(*self._looks, return_exceptions=True)

    def _ended(self, look: asyncio.Task[None]) -> None:
        self._looks.discard(look)
        self._places.release()

    async def _look(self, number: str) -> None:
        try:
            sandbox = await self._get(number)
            if (stage := next_stage(sandbox)) is None:
                return
            desired, seconds = stage
            idle = (datetime.now(UTC) - sandbox.changed_at).total_seconds()
            if sandbox.state == State.READY:
                idle = min(idle, await self._ask(sandbox))
            if idle >= seconds:
                await self._change(sandbox, desired)
            elif number not in self._due:
                self._look_at(number, time.time() + max(SHORTEST, seconds - idle))
        except SandboxFailedError as error:
            _log.warning("cannot see whether %s is used: %s", number, error)
            self._look_at(number, time.time() + max(UNKNOWN_SECONDS, seconds))
        except (FleetError, SQLAlchemyError, OSError):
            _log.exception("cannot look whether %s is used", number)
            self._look_at(number, time.time() + UNKNOWN_SECONDS)

    async def _ask(self, sandbox: Sandbox) -> float:
        """For how many seconds nobody has used it."""
        said = await self._client.call(sandbox, "view", "GET", "/v1/idleness")
        return read_idleness(sandbox, said)


def read_idleness(sandbox: Sandbox, said: Any) -> float:
    """Seconds without use, by what a sandbox says. Raises `SandboxFailedError` where that is not to be read."""
    try:
        seconds, active = float(said["idle_seconds"]), said["active"]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SandboxFailedError(f"{sandbox.name} does not say whether it is used") from error
    if not math.isfinite(seconds) or not isinstance(active, list):
        raise SandboxFailedError(f"{sandbox.name} does not say whether it is used")
    return 0.0 if active else max(0.0, seconds)
