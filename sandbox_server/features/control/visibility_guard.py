"""The rule for every operation that shows the screen or a page: nobody else looks while a person is private."""

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel

from sandbox_server.core import Call, Caller
from sandbox_server.core.control import Holding
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.core.tasks import start_task
from sandbox_server.features.control.lease_keeper import Driving


@dataclass(eq=False, slots=True)
class _Look:
    caller: Caller
    work: "asyncio.Future[object]"
    ended: bool = False


class Sight:
    """Guard: what shows, by its `shows`, is refused while a person is private, and ended if it has begun."""

    def __init__(self, driving: Driving) -> None:
        self._driving = driving
        self._looking: set[_Look] = set()

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        if not called.spec.shows:
            return await proceed()
        self._driving.holding.check_seen(call.caller)
        look = _Look(call.caller, start_task(proceed()))
        self._looking.add(look)
        try:
            return await look.work
        except asyncio.CancelledError:
            if look.ended:
                raise self._driving.holding.hidden() from None
            look.work.cancel()
            raise
        finally:
            self._looking.discard(look)

    async def end(self, holding: Holding) -> None:
        """End what looks and may not any more, and wait until it has ended."""
        ended = [look for look in self._looking if not holding.sees(look.caller)]
        for look in ended:
            look.ended = True
            look.work.cancel()
        if ended:
            await asyncio.wait([look.work for look in ended])
