"""What programs are doing just now with the screen and the pages, so that a person who takes control need not wait for it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.core import Caller
from sandbox_server.core.control import Holding, Reach
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.tasks import start_task

INTERRUPTED: frozenset[Reach] = frozenset({"gui", "cdp"})
"""What a person takes over in the middle; a program that runs is not input, and goes on."""


@dataclass(eq=False, slots=True)
class _Act:
    caller: Caller
    reaches: Sequence[Reach]
    work: "asyncio.Future[object]"
    interrupted: bool = False


class Acts:
    """The calls that act now."""

    def __init__(self) -> None:
        self._running: set[_Act] = set()
        self._holding = Holding()

    async def run(self, caller: Caller, reaches: Sequence[Reach], proceed: Proceed) -> object:
        """Let a call act; raises HeldByHuman with the outcome `unknown` if it is interrupted."""
        if not INTERRUPTED.issuperset(reaches):
            return await proceed()
        act = _Act(caller, reaches, start_task(proceed()))
        self._running.add(act)
        try:
            return await act.work
        except asyncio.CancelledError:
            if act.interrupted:
                raise self._holding.refusal("unknown") from None
            raise
        finally:
            self._running.discard(act)

    async def interrupt(self, holding: Holding) -> None:
        """End what may not act any more, and wait until it has ended."""
        self._holding = holding
        ended = [act for act in self._running if not holding.admits_all(act.caller, act.reaches)]
        for act in ended:
            act.interrupted = True
            act.work.cancel()
        if ended:
            await asyncio.wait([act.work for act in ended])
