"""Renewal: one box ends and the next begins, and what can be had again is brought back."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Model, Tasks
from sandbox_server.core.control import Reach
from sandbox_server.drivers.box.client import LONG_SECONDS, BoxClient

ENDS: tuple[Reach, ...] = ("shell", "gui", "cdp")
"""What ends, or stands still, with a box: the desktop's programs live in it as well, the browser among them."""
NOT_KEPT = (
    "Processes and memory are not kept: what ran was stopped, and is named in `stopped`. Shells are opened again where they were, with "
    "their exported variables and what was on their screens, and without their jobs, functions, aliases and other variables. "
    "What is mounted from outside, such as a volume at the workspace, is as it was."
)


class ReopenedShells(Protocol):
    """Sessions that live on in the next box."""

    async def note(self) -> Mapping[str, bytes]:
        """Note what each exports."""

    def reopen(self, noted: Mapping[str, bytes]) -> list[str]:
        """Begin to open them again with what was noted, and name them."""


class StoppedProcess(Model):
    """A process that ended with the box that it was in."""

    pid: int
    """Its number in the box."""
    uid: int
    """Its user."""
    command: str
    """What it was started as, at most 200 characters."""


class Renewal:
    """Has the daemon do what ends the box; an asynchronous context manager, for what it counts in the background.

    `renewed` is called when everything in the box has ended, and each of `followers` when a checkpoint was made.
    """

    def __init__(self, box: BoxClient, shells: ReopenedShells, *, renewed: Callable[[], None] = lambda: None) -> None:
        self.followers: list[Callable[[], None]] = []
        self._renewed = renewed
        self._box = box
        self._shells = shells
        self._lock = asyncio.Lock()
        self._capturing = asyncio.Lock()
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def renew(self, operation: str, **fields: Any) -> dict[str, Any]:
        """Do one of the daemon's operations that end the box, unless it finds that there is nothing to do.

        Gives what it answers, and the sessions that are opened again as `reopened`.
        """
        async with self._lock:
            noted = await self._shells.note()
            done = await self._box.ask(operation, **fields)
            if done.get("unchanged"):
                return done | {"reopened": []}
            self._renewed()
            reopened = self._shells.reopen(noted)
        self._tell(operation)
        return done | {"reopened": reopened}

    async def capture(self, operation: str, **fields: Any) -> dict[str, Any]:
        """Do one of the daemon's operations that lets programs go on, unless none runs; it takes as long as there is to copy.

        What ends the box does not wait for it, and ends it.
        """
        async with self._capturing:
            done = await self._box.ask(operation, timeout=LONG_SECONDS, **fields)
        if not done.get("unchanged"):
            self._tell(operation)
        return done | {"reopened": []}

    def _tell(self, operation: str) -> None:
        self._count()
        if operation == "checkpoint":
            for follow in self.followers:
                follow()

    def _count(self) -> None:
        self._tasks.start(self._box.ask("usage", timeout=LONG_SECONDS), name="count the checkpoints' files")
