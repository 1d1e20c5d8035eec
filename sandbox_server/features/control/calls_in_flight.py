"""Calls in flight on the screen and the pages: they are ended when their caller loses control, or may not see any more."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.core import Caller, Failure
from sandbox_server.core.control import Holding, Reach
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.tasks import start_task

INTERRUPTED: frozenset[Reach] = frozenset({"gui", "cdp"})
"""What a call is interrupted on when a person takes it over; a program that runs is not input, and goes on."""


@dataclass(eq=False, slots=True)
class _Call:
    caller: Caller
    work: "asyncio.Future[object]"
    acts: Sequence[Reach] = ()
    shows: bool = False
    refusal: Failure | None = None
    """Why it was ended; None while nobody ended it."""

    def refused_by(self, holding: Holding) -> Failure | None:
        """Why it may not go on under this holding; None where it may."""
        if not holding.admits_all(self.caller, self.acts):
            return holding.refusal("unknown")
        return holding.hidden() if self.shows and not holding.sees(self.caller) else None


class CallsInFlight:
    """Tracks calls by what they act on, or that they show something, so that a change of the lease can interrupt them."""

    def __init__(self) -> None:
        self._running: set[_Call] = set()

    async def act(self, caller: Caller, reaches: Sequence[Reach], proceed: Proceed) -> object:
        """Run a call that acts; raises HeldByHuman with the outcome `unknown` if it is interrupted."""
        if not INTERRUPTED.issuperset(reaches):
            return await proceed()
        return await self.give_way(caller, reaches, proceed)

    async def give_way(self, caller: Caller, reaches: Sequence[Reach], proceed: Proceed) -> object:
        """Run what ends as soon as its caller loses any of `reaches`; raises HeldByHuman with the outcome `unknown` then."""
        return await self._run(_Call(caller, start_task(proceed()), acts=reaches))

    async def show(self, caller: Caller, proceed: Proceed) -> object:
        """Run a call that shows the screen or a page; raises Private if it is interrupted."""
        return await self._run(_Call(caller, start_task(proceed()), shows=True))

    async def _run(self, call: _Call) -> object:
        self._running.add(call)
        try:
            return await call.work
        except asyncio.CancelledError:
            if call.refusal:
                raise call.refusal from None
            raise
        finally:
            self._running.discard(call)

    async def interrupt(self, holding: Holding) -> None:
        """End what may not go on under a new holding, and wait until it has ended."""
        for call in self._running:
            call.refusal = call.refusal or call.refused_by(holding)
        ended = [call.work for call in self._running if call.refusal]
        for work in ended:
            work.cancel()
        if ended:
            await asyncio.wait(ended)
