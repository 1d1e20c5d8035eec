"""Revocation hooks: run when control changes, before the change counts, beside the interruption of calls in flight."""

import asyncio
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Caller, Tasks, Unavailable
from sandbox_server.core.control import Holding

AGAIN_SECONDS = 0.2

A_PROGRAM = Caller("a program")
"""Any of them: what holds for one holds for all."""


class InterruptibleInput(Protocol):
    """Input on the screen that can be interrupted."""

    async def interrupt(self) -> None: ...


class ReleaseKeys:
    """Releases what programs hold down on the screen, once, when they lose it."""

    def __init__(self, turns: InterruptibleInput) -> None:
        self._turns = turns

    async def __call__(self, holding: Holding) -> None:
        if not holding.admits(A_PROGRAM, "gui"):
            await self._turns.interrupt()


class BrowserControl(Protocol):
    """The process that owns the browser."""

    async def control(self, holding: dict[str, Any]) -> None: ...
    async def open_fresh(self, person: str, url: str) -> None: ...
    async def close_fresh(self) -> None: ...


class TellBrowser:
    """Tells the process that owns the browser, whose clients act past the API, until it has heard; an asynchronous context manager."""

    def __init__(self, owner: BrowserControl) -> None:
        self._owner = owner
        self._latest = Holding(0)
        self._again: asyncio.Task[None] | None = None
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def __call__(self, holding: Holding) -> None:
        self._latest = holding
        try:
            await self._owner.control(holding.dumps())
        except BaseException:
            if self._again is None or self._again.done():
                self._again = self._tasks.start(self._tell_again(), name="tell the browser who has control")
            raise

    async def _tell_again(self) -> None:
        while True:
            await asyncio.sleep(AGAIN_SECONDS)
            told = self._latest
            try:
                await self._owner.control(told.dumps())
            except Unavailable:
                continue
            if told == self._latest:
                return
