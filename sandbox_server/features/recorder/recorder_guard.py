"""Every call is written down: what was asked, by whom, what came of it, and how long it took."""

from collections.abc import Callable
from functools import partial

from pydantic import BaseModel

from sandbox_server.core import Call, Caller
from sandbox_server.core.audit import with_outcome_reported
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.recorder.journal import ActorType, Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.recorded_fields import kind_of, recorded_fields_of
from sandbox_server.features.recorder.trace_context import Trace, new_trace, trace_of

OWN_TAG = "recorder"
UNREAD = frozenset({"unauthenticated", "permission_denied", "held_by_human", "private", "resource_exhausted"})
"""What came of a call that was not let in: of its fields, which nobody was asked about, nothing is looked at."""

type Span = Callable[[Trace, Operation, Call, str, float], None]
"""Takes a span: the call, what came of it, and how many seconds it took until now."""


def actor_of(caller: Caller) -> ActorType:
    """What sort of actor a caller is."""
    return "person" if caller.person else "agent"


class RecorderGuard:
    """Guard: writes down every call but those of the sandbox's own health, and looks at the record itself."""

    def __init__(self, journal: Journal, redaction: Redaction, span: Span | None = None) -> None:
        """`span` is called with every call, whether it belongs to a trace or not; None exports no spans."""
        self._journal = journal
        self._redaction = redaction
        self._span = span

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        if called.spec.scope == "public" or (called.tag == OWN_TAG and called.spec.read_only):
            return await proceed()
        return await with_outcome_reported(proceed, partial(self._record, called, request, call))

    def _record(self, called: Operation, request: BaseModel | None, call: Call, outcome: str, seconds: float) -> None:
        trace = trace_of(call.headers) or (new_trace() if self._span else None)
        hidden = outcome in UNREAD or (call.caller.person and self._journal.private())
        self._journal.record(
            kind_of(called),
            actor_of(call.caller),
            call.caller.name,
            None if request is None or hidden else lambda: {"request": recorded_fields_of(request, self._redaction)},
            operation=called.name,
            outcome=outcome,
            ms=round(seconds * 1000, 2),
            surface=call.surface,
            request_id=call.request_id,
            **({"trace": trace.trace, "span": trace.span, "parent": trace.parent} if trace else {}),
        )
        if self._span and trace:
            self._span(trace, called, call, outcome, seconds)
