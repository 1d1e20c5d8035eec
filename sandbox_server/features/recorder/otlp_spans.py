"""Every call as a span, told to a collector by OTLP over HTTP with JSON bodies (https://opentelemetry.io/docs/specs/otlp/#otlphttp)."""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Call
from sandbox_server.core.operation import Operation
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.clients.webhook import DeliveryResult, post
from sandbox_server.features.recorder.trace_context import Trace

GATHER_SECONDS = 2.0
MAX_WAITING = 4096
"""Spans that may wait to be told; the oldest are left out."""
MAX_BATCH = 512
SERVER = 2
"""The kind of a span that answers a request."""
_OK, _ERROR = 1, 2

type Post = Callable[[str, bytes, dict[str, str]], Awaitable[DeliveryResult]]

log = logging.getLogger(__name__)


class Spans:
    """Gathers spans and posts them to `url`; an asynchronous context manager. One that is not taken is lost: nobody waits for it."""

    def __init__(self, url: str, headers: dict[str, str], service: str, send: Post = post) -> None:
        self._url = f"{url.rstrip('/')}/v1/traces"
        self._headers = {"Content-Type": "application/json"} | headers
        self._resource = {"attributes": [_attribute("service.name", service)]}
        self._send = send
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MAX_WAITING)
        self._telling: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._failed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        if self._telling:
            await asyncio.wait([self._telling])

    def add(self, trace: Trace, called: Operation, call: Call, outcome: str, seconds: float) -> None:
        """Take a call that has just ended, unless its trace is not sampled."""
        if not trace.sampled:
            return
        self._waiting.append(span_of(trace, called, call, outcome, (time.time() - seconds, time.time())))
        if self._telling is None or self._telling.done():
            self._telling = start_task(self._tell())

    async def _tell(self) -> None:
        while self._waiting:
            try:
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._closing.wait()
            except TimeoutError:
                pass
            batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
            scope = {"scope": {"name": "sandbox_server"}, "spans": batch}
            body = {"resourceSpans": [{"resource": self._resource, "scopeSpans": [scope]}]}
            self._note(await self._send(self._url, json.dumps(body).encode(), self._headers))

    def _note(self, answer: DeliveryResult) -> None:
        failed = answer.status is None or answer.status >= 300
        if failed and not self._failed:
            log.warning("spans are not taken: %s", answer.error or answer.status)
        self._failed = failed


def span_of(trace: Trace, called: Operation, call: Call, outcome: str, times: tuple[float, float]) -> dict[str, Any]:
    """A call as OTLP's JSON has it; of the request it tells nothing."""
    told = {
        "http.request.method": called.spec.verb,
        "http.route": called.spec.path,
        "enduser.id": call.caller.name,
        "sandbox.actor": "person" if call.caller.person else "agent",
        "sandbox.surface": call.surface,
        "sandbox.outcome": outcome,
        "sandbox.request_id": call.request_id,
    }
    return {
        "traceId": trace.trace,
        "spanId": trace.span,
        **({"parentSpanId": trace.parent} if trace.parent else {}),
        "name": called.name,
        "kind": SERVER,
        "startTimeUnixNano": str(int(times[0] * 1e9)),
        "endTimeUnixNano": str(int(times[1] * 1e9)),
        "attributes": [_attribute(name, value) for name, value in told.items()],
        "status": {"code": _OK if outcome == "ok" else _ERROR},
    }


def headers_of(text: str) -> dict[str, str]:
    """Read `name=value,name=value`, as OTEL_EXPORTER_OTLP_HEADERS has it."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}
