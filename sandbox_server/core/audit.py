"""The audit: a structured log line for each call, with caller and outcome, and the counters behind `/metrics`."""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from pydantic import BaseModel

from sandbox_server.core.dispatch import InvalidFields, Proceed
from sandbox_server.core.errors import Failure
from sandbox_server.core.operation import Operation
from sandbox_server.core.results import Call

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the duration histogram, in seconds."""

_log = logging.getLogger("sandbox.audit")


@dataclass(slots=True)
class Durations:
    """The durations of all calls of an operation with one outcome."""

    count: int = 0
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    """Calls per bucket, not cumulative. The last bucket is everything above the highest bound."""

    def add(self, seconds: float) -> None:
        """Count one call."""
        self.count += 1
        self.seconds += seconds
        self.buckets[bisect_left(BUCKETS, seconds)] += 1


async def with_outcome_reported(proceed: Proceed, told: Callable[[str, float], None]) -> object:
    """Run the call, then report its outcome (`ok` or the kind of the error) and its duration in seconds."""
    started = time.perf_counter()
    outcome = "internal"
    try:
        result = await proceed()
        outcome = "ok"
        return result
    except Failure as failure:
        outcome = failure.kind
        raise
    except InvalidFields:
        outcome = "invalid_fields"
        raise
    finally:
        told(outcome, time.perf_counter() - started)


class Audit:
    """Guard that logs and counts every call. It sees names of fields but no values, so it cannot leak one."""

    def __init__(self) -> None:
        self.durations: dict[tuple[str, str], Durations] = {}

    async def __call__(self, operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        return await with_outcome_reported(proceed, partial(self._record, operation, call))

    def _record(self, operation: Operation, call: Call, outcome: str, seconds: float) -> None:
        self.durations.setdefault((operation.name, outcome), Durations()).add(seconds)
        if operation.spec.scope == "public":
            return
        line = {
            "request_id": call.request_id,
            "caller": call.caller.name,
            "surface": call.surface,
            "operation": operation.name,
            "ms": round(seconds * 1000, 2),
            "outcome": outcome,
        }
        _log.info("call", extra={"fields": line})
