"""Suspension: the agent's processes stand still, cost no processor time, and go on where they were."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel

from sandbox_server.core import Call, Caller, Failure, Model, Tasks, operation
from sandbox_server.core.control import Holding
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.features.box.renewal import ENDS

CHECKS = 10
"""How often in the idle time it is looked whether there was any activity."""
MIN_CHECK_SECONDS = 0.2
_SLEEPING_TAGS = frozenset({"suspension", "capabilities", "health"})
"""Features that do not need the box's processes."""
_LOOKING_TAGS = frozenset({"checkpoints", "box"})
"""Features that need them only to change something."""


class SuspendState(Model):
    """Whether the box stands still."""

    state: Literal["running", "suspended"]
    processes: int
    """Processes in the box."""


class Suspension:
    """Suspends the box when asked or when nothing happens, and resumes it for whoever needs it; an asynchronous context manager.

    `idle_seconds` 0 never suspends by itself. `busy` tells of work that goes on without a request, `messages` counts what came
    past the API. `holding` is who may act now: what a person who drives has suspended, no program resumes.
    `running`: the box is a new one, which nobody has suspended yet.
    """

    tag = "suspension"

    def __init__(
        self,
        box: BoxClient,
        *,
        idle_seconds: float,
        busy: Callable[[], bool],
        messages: Callable[[], Awaitable[int]],
        holding: Callable[[], Holding] = Holding,
        running: bool = False,
    ) -> None:
        self._box = box
        self._idle_seconds = idle_seconds
        self._busy = busy
        self._messages = messages
        self._holding = holding
        self._counted = 0
        self._suspended: bool | None = None if box.isolation.level == "box" and not running else False
        """None: it may be, since before this process started, or in a moment."""
        self._calls = 0
        self._active_at = time.monotonic()
        self._lock = asyncio.Lock()
        self._tasks = Tasks()

    async def __aenter__(self) -> "Suspension":
        if self._idle_seconds and self._box.isolation.level == "box":
            self._tasks.start(self._watch(), name="idle suspension")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.close()

    @operation("POST /v1/suspend", scope="shell", acts=ENDS)
    async def suspend(self) -> SuspendState:
        """Stop every process in the box where it is, the desktop's too. Any request that needs the box resumes it.

        Refused while a person holds the screen, the pages or the shells. What that person suspends, a program does not resume.
        """
        async with self._lock:
            self._suspended = None  # who comes meanwhile resumes it afterwards
            done = await self._box.ask("freeze")
            self._suspended = True
        return SuspendState(state="suspended", processes=done["processes"])

    @operation("POST /v1/resume", scope="shell", acts=ENDS)
    async def resume(self) -> SuspendState:
        """Let the box go on. Refused while a person holds the screen, the pages or the shells."""
        await self._resume()
        return await self._state()

    @operation("GET /v1/suspend", scope="view")
    async def suspension_state(self) -> SuspendState:
        """Tell whether the box stands still."""
        return await self._state()

    async def _state(self) -> SuspendState:
        status = await self._box.ask("status")
        return SuspendState(state="suspended" if status["frozen"] else "running", processes=status["processes"])

    async def guard(self, called: Operation, _: BaseModel | None, call: Call, proceed: Proceed) -> object:
        """Guard: resume the box for whoever needs it, and note that somebody does."""
        if not _needs_box(called):
            return await proceed()
        self._calls += 1
        try:
            if self._suspended is not False:
                await self._resume_for(call.caller)
            return await proceed()
        finally:
            self._calls -= 1
            self._active_at = time.monotonic()

    @property
    def in_use(self) -> bool:
        """Whether a request that needs the box is being answered."""
        return self._calls > 0

    async def seconds_idle(self, *, active: bool) -> float:
        """Seconds since the last activity; 0 while there is any. `active`: there is some that only the caller sees."""
        reached = await self._was_reached()
        if active or reached or self._is_active():  # last, for who came while that was asked
            self._active_at = time.monotonic()
        return time.monotonic() - self._active_at

    def _is_active(self) -> bool:
        return self.in_use or self._busy()

    async def _resume_for(self, caller: Caller) -> None:
        """Resume the box for who needs it. Raises HeldByHuman for a program while a person drives who left it suspended."""
        holding = self._holding()
        if holding.state != "human" or holding.admits_all(caller, ENDS):
            await self._resume()
            return
        async with self._lock:
            if (await self._box.ask("status"))["frozen"]:
                raise holding.refusal()
            self._suspended = False

    async def _resume(self) -> None:
        async with self._lock:
            await self._box.ask("thaw")
            self._suspended = False

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(max(self._idle_seconds / CHECKS, MIN_CHECK_SECONDS))
            if await self.seconds_idle(active=False) >= self._idle_seconds and self._suspended is not True:
                with suppress(Failure):  # the daemon is starting anew: the next look tries again
                    await self.suspend()

    async def _was_reached(self) -> bool:
        """Whether messages came past the API since it was last asked."""
        before = self._counted
        with suppress(Failure):  # what counts them is starting anew, or was left out
            self._counted = await self._messages()
        return self._counted != before


def _needs_box(called: Operation) -> bool:
    looks = called.tag in _LOOKING_TAGS and called.spec.read_only
    return not (looks or called.tag in _SLEEPING_TAGS or called.spec.scope in ("any", "public"))
