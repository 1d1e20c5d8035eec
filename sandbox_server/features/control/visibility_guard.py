"""The guard on every operation that shows the screen or a page: while a person is private, nobody else sees it."""

from pydantic import BaseModel

from sandbox_server.core import Call
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from sandbox_server.features.control.lease_keeper import LeaseKeeper


class VisibilityGuard:
    """Guard: an operation that shows, by its `shows`, is refused while a person is private, and ended if it has begun."""

    def __init__(self, keeper: LeaseKeeper, calls: CallsInFlight) -> None:
        self._keeper = keeper
        self._calls = calls

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        if not called.spec.shows:
            return await proceed()
        self._keeper.holding.check_seen(call.caller)
        return await self._calls.show(call.caller, proceed)
