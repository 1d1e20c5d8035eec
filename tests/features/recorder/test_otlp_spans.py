"""Calls as spans."""

import json
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, operation
from sandbox_server.core.operation import operations
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.recorder import otlp_spans as module
from sandbox_server.features.recorder.otlp_spans import Spans, headers_of
from sandbox_server.features.recorder.trace_context import Trace
from tests.patience import eventually

pytestmark = pytest.mark.anyio
ROBOT = Call(Caller("robot"), "r-1")


class Sample:
    tag = "sample"

    @operation("POST /sample/{id}", scope="files")
    async def move(self) -> None:
        """Move it."""


[MOVE] = operations(Sample())


class Collector:
    def __init__(self, status: int = 200) -> None:
        self.got: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.status = status

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> DeliveryResult:
        self.got.append((url, json.loads(body), headers))
        return DeliveryResult(self.status, None)


async def test_calls_are_told_together_with_their_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GATHER_SECONDS", 0.01)
    collector = Collector()
    async with Spans("http://collector:4318/", {"api-key": "k"}, "mine", collector.post) as spans:
        spans.add(Trace("a" * 32, "b" * 16, "c" * 16), MOVE, ROBOT, "ok", 0.5)
        spans.add(Trace("d" * 32, "e" * 16, None), MOVE, ROBOT, "conflict", 0.5)
        spans.add(Trace("f" * 32, "e" * 16, None, sampled=False), MOVE, ROBOT, "ok", 0.5)
        await eventually(lambda: collector.got)
    [(url, body, headers)] = collector.got
    assert (url, headers["api-key"]) == ("http://collector:4318/v1/traces", "k")
    [resource] = body["resourceSpans"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "mine"}}]
    first, second = resource["scopeSpans"][0]["spans"]
    assert (first["traceId"], first["spanId"], first["parentSpanId"], first["name"]) == ("a" * 32, "b" * 16, "c" * 16, "sample.move")
    assert int(first["endTimeUnixNano"]) - int(first["startTimeUnixNano"]) >= 400_000_000
    assert (first["status"], second["status"], "parentSpanId" in second) == ({"code": 1}, {"code": 2}, False)
    told = {each["key"]: each["value"]["stringValue"] for each in first["attributes"]}
    assert told.items() >= {"http.route": "/sample/{id}", "enduser.id": "robot", "sandbox.outcome": "ok"}.items()


async def test_what_waits_is_told_at_the_end_and_a_collector_that_refuses_it_holds_nobody_up() -> None:
    collector = Collector(503)
    async with Spans("http://collector:4318", {}, "mine", collector.post) as spans:
        spans.add(Trace("a" * 32, "b" * 16, None), MOVE, ROBOT, "ok", 0.5)
    assert len(collector.got) == 1


def test_headers_are_pairs() -> None:
    assert headers_of("api-key=k=1, tenant = t,nonsense") == {"api-key": "k=1", "tenant": "t"}
