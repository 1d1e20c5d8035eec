"""Every call is written down: what was asked, by whom, what came of it, and how long it took."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from sandbox_server.core import Call, Caller
from sandbox_server.core.audit import with_outcome_reported
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.errors import Failure
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.recorder.journal import ActorType, Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.recorded_fields import kind_of, recorded_fields_of
from sandbox_server.features.recorder.recorded_results import MAX_ERROR, MAX_OUTPUT, recorded_result_of
from sandbox_server.features.recorder.recorded_stream import recorded_stream
from sandbox_server.features.recorder.trace_context import Trace, new_trace, trace_of

OWN_TAG = "recorder"
UNREAD = frozenset({"unauthenticated", "permission_denied", "held_by_human", "private", "resource_exhausted"})
"""What came of a call that was not let in: of its fields, which nobody was asked about, nothing is looked at."""

WATCHED = "browser.watch_picture"
"""The operation by which a person watches where WebSockets are blocked: once a second, and no act."""

type Span = Callable[[Trace, Operation, Call, str, float], None]
"""Takes a span: the call, what came of it, and how many seconds it took until now."""


def actor_of(caller: Caller) -> ActorType:
    """What sort of actor a caller is."""
    return "person" if caller.person else "agent"


@dataclass(slots=True)
class _Ending:
    """How a call ended: its result, or why it failed."""

    result: object = None
    error: str = ""


class RecorderGuard:
    """Guard: writes down every call but those of the sandbox's own health, looks at the record itself, and a person's watching."""

    def __init__(self, journal: Journal, redaction: Redaction, span: Span | None = None, *, output: bool = True) -> None:
        """`span` is called with every call, whether it belongs to a trace or not; None exports no spans.

        `output`: the end of a command's output is recorded, too.
        """
        self._journal = journal
        self._redaction = redaction
        self._span = span
        self._output = output

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        is_watching = called.name == WATCHED and call.caller.person
        if called.spec.scope == "public" or (called.tag == OWN_TAG and called.spec.read_only) or is_watching:
            return await proceed()
        ending = _Ending()

        async def ended() -> object:
            try:
                ending.result = await proceed()
            except Failure as failure:
                ending.error = failure.message
                raise
            return ending.result

        def record(outcome: str, seconds: float) -> None:
            self._record(called, request, call, outcome, seconds, ending)

        result = await with_outcome_reported(ended, record)
        if isinstance(result, AsyncIterator) and kind_of(called) == "command":
            return recorded_stream(result, lambda how, written: self._record_end(called, request, call, how, written))
        return result

    def _record(self, called: Operation, request: BaseModel | None, call: Call, outcome: str, seconds: float, ending: _Ending) -> None:
        trace = trace_of(call.headers) or (new_trace() if self._span else None)
        hidden = outcome in UNREAD or self._hides(call)
        self._journal.record(
            kind_of(called),
            actor_of(call.caller),
            call.caller.name,
            None if hidden else lambda: self._read(called, request, ending),
            operation=called.name,
            outcome=outcome,
            ms=round(seconds * 1000, 2),
            surface=call.surface,
            request_id=call.request_id,
            **({"socket": True} if called.spec.socket else {}),
            **({"trace": trace.trace, "span": trace.span, "parent": trace.parent} if trace else {}),
        )
        if self._span and trace:
            self._span(trace, called, call, outcome, seconds)

    def _record_end(self, called: Operation, request: BaseModel | None, call: Call, how: dict[str, Any], written: str) -> None:
        """Write down the end of a command whose output was streamed: `request_id` is that of its beginning."""

        def read() -> dict[str, Any]:
            text = self._redaction.output(written, _typed(request), MAX_OUTPUT) if self._output else ""
            return {"result": how | ({"output": text} if text else {})}

        later = None if self._hides(call) else read
        self._journal.record(
            "command",
            actor_of(call.caller),
            call.caller.name,
            later,
            event="ended",
            operation=called.name,
            outcome="ok",
            request_id=call.request_id,
        )

    def _hides(self, call: Call) -> bool:
        return call.caller.person and self._journal.private()

    def _read(self, called: Operation, request: BaseModel | None, ending: _Ending) -> dict[str, Any]:
        """What is written down of a request and what came of it."""
        found: dict[str, Any] = {} if request is None else {"request": recorded_fields_of(request, self._redaction)}
        if result := recorded_result_of(called, ending.result, _typed(request), self._redaction, output=self._output):
            found["result"] = result
        if ending.error:
            found["error"] = self._redaction.output(ending.error, _typed(request), MAX_ERROR)
        return found


def _typed(request: BaseModel | None) -> str:
    """The command of a request, or its code."""
    texts = (getattr(request, name, None) for name in ("command", "cmd", "code"))
    return next((text for text in texts if isinstance(text, str)), "")
