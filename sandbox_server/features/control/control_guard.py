"""The rule that every operation which acts keeps to: not while a person holds what it acts on, nor on what it saw before."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pydantic import BaseModel

from sandbox_server.core import Call, Conflict, InvalidArgument, ResourceExhausted
from sandbox_server.core.control import Reach
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.features.control.calls_in_flight import CallsInFlight
from sandbox_server.features.control.lease_keeper import LeaseKeeper

EPOCH_HEADER = "x-control-epoch"
MAX_WAIT = 3600.0
MAX_PARKED = 256
"""Calls that may wait for control at once."""
MAX_CALLERS = 1024
"""Callers of whom it is known what they have seen."""


class StaleEpoch(Conflict):
    """The action was meant for what was there before somebody else acted."""

    kind = "stale_epoch"


@runtime_checkable
class ActingRequest(Protocol):
    """A request that may act where others of its operation look."""

    @property
    def acts(self) -> Sequence[Reach]: ...


class ControlGuard:
    """Guard: an operation that acts, by its `acts`, needs control of that."""

    def __init__(self, keeper: LeaseKeeper, calls: CallsInFlight) -> None:
        self._keeper = keeper
        self._calls = calls
        self._parked = 0
        self._seen: OrderedDict[str, int] = OrderedDict()
        """The epoch in which each caller saw the screen last."""

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        reaches = called.spec.acts or _acts_of(request)
        if not reaches:
            return await self._read(called, call, proceed)
        if not self._keeper.holding.admits_all(call.caller, reaches):
            await self._park(reaches, call)
        self._check_epoch(reaches, call)
        if call.caller.name not in self._seen:
            self._note(call.caller.name, self._keeper.holding.epoch)
        return await self._calls.act(call.caller, reaches, proceed)

    async def _read(self, called: Operation, call: Call, proceed: Proceed) -> object:
        epoch = self._keeper.holding.epoch
        result = await proceed()
        if called.spec.scope == "browser":
            self._note(call.caller.name, epoch)
        return result

    async def _park(self, reaches: Sequence[Reach], call: Call) -> None:
        """Wait as long as the call says; raises HeldByHuman when control does not come back by then."""
        seconds = _wait_of(call)
        if not seconds:
            raise self._keeper.holding.refusal()
        if self._parked >= MAX_PARKED:
            raise ResourceExhausted(f"{MAX_PARKED} calls wait for control already", retry_after=seconds)
        self._parked += 1
        try:
            if not await self._keeper.until(lambda holding: holding.admits_all(call.caller, reaches), seconds):
                raise self._keeper.holding.refusal()
        finally:
            self._parked -= 1

    def _check_epoch(self, reaches: Sequence[Reach], call: Call) -> None:
        """Raise StaleEpoch for an action that quotes an old epoch, or whose agent points at the screen, over MCP, as it was before."""
        epoch, quoted = self._keeper.holding.epoch, _epoch_of(call)
        if quoted is None and call.surface == "mcp" and tuple(reaches) == ("gui",):  # pages refuse what is stale by themselves
            quoted = self._seen.get(call.caller.name, epoch)
        if quoted is not None and quoted != epoch:
            raise StaleEpoch(
                "somebody else has acted since you looked: look again, then decide anew",
                hint=f"A screenshot, the page's text or its elements will do; then quote epoch {epoch}.",
                reason="stale_epoch",
                epoch=epoch,
                quoted=quoted,
            )

    def _note(self, name: str, epoch: int) -> None:
        self._seen[name] = epoch
        self._seen.move_to_end(name)
        if len(self._seen) > MAX_CALLERS:
            self._seen.popitem(last=False)


def _acts_of(request: BaseModel | None) -> Sequence[Reach]:
    """What one request of an operation that looks acts on all the same: it says so itself."""
    return request.acts if isinstance(request, ActingRequest) else ()


def _epoch_of(call: Call) -> int | None:
    quoted = call.headers.get(EPOCH_HEADER) or call.query.get("epoch")
    if not quoted:
        return None
    if not quoted.isdecimal() or len(quoted) > 18:
        raise InvalidArgument("the epoch is a number, as GET /v1/control tells it")
    return int(quoted)


def _wait_of(call: Call) -> float:
    """Seconds to wait for control: `?wait=`."""
    try:
        seconds = float(call.query.get("wait") or 0)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_WAIT:
        raise InvalidArgument(f"wait is a number of seconds from 0 to {MAX_WAIT:g}")
    return seconds
