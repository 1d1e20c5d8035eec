"""W3C Trace Context: whose trace a request belongs to (https://www.w3.org/TR/trace-context/).

The service exports no spans of its own. So it passes on what its caller sent: a sandbox's spans are children of the caller's.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
STATE = 512
"""Characters of `tracestate` that are passed on."""


@dataclass(frozen=True)
class TraceContext:
    """What a caller sent."""

    parent: str
    state: str

    @property
    def trace(self) -> str:
        """The trace's id, in hexadecimal."""
        return self.parent[3:35]

    @property
    def headers(self) -> dict[str, str]:
        """What a call within the trace is sent with."""
        return {"traceparent": self.parent} | ({"tracestate": self.state} if self.state else {})


TRACE: ContextVar[TraceContext | None] = ContextVar("trace", default=None)
"""The trace of the request that is answered, also in the work that it began; None where it has none."""


def follow(headers: Mapping[str, str]) -> None:
    """Belong to the trace that a request names from now on; to none where it names none."""
    parent, state = headers.get("traceparent", "").strip(), headers.get("tracestate", "").strip()
    if not _PARENT.fullmatch(parent):
        TRACE.set(None)
        return
    kept = state if len(state) <= STATE and state.isascii() and state.isprintable() else ""
    TRACE.set(TraceContext(parent, kept))
