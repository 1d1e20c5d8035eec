"""Calls of a sandbox, and what is made of its answers."""

from collections import OrderedDict
from typing import Any

import jwt
import pytest
from starlette.responses import PlainTextResponse, Response
from tandem_fleet.e2b import sandbox_calls
from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.sandbox_calls import SandboxCalls, SandboxClients

from tests.fleet.e2b.stub_sandbox import StubSandbox, described, events, refused

pytestmark = pytest.mark.anyio


async def test_a_call_has_a_token_of_its_sandbox(calls: SandboxCalls, clients: SandboxClients, stub: StubSandbox) -> None:
    stub.on("POST /v1/x", lambda fields: fields)
    stub.on("GET /v1/x", lambda fields: fields)
    assert await calls.call("POST", "/v1/x", {"a": "\udcff"}) == {"a": "\udcff"}
    assert await calls.call("GET", "/v1/x", {"a": 1}) == {"a": "1"}
    assert await clients.calls(described(stub.address, "other")).call("POST", "/v1/x") == {}
    said = [jwt.decode(one["authorization"].removeprefix("Bearer "), options={"verify_signature": False}) for one in stub.headers]
    assert [one["aud"] for one in said] == ["abc", "abc", "other"]
    assert {one["scope"] for one in said} == {"code files shell view"}
    assert {one["sub"] for one in said} == {"e2b"}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (refused(404, "none"), "not_found"),
        (refused(409, "busy"), "failed_precondition"),
        (refused(423, "held"), "failed_precondition"),
        (refused(429, "full"), "resource_exhausted"),
        (refused(401, "who"), "internal"),
        (refused(503, "starting"), "unavailable"),
        (refused(0, "gone", "not_found"), "not_found"),
        (refused(0, "there", "already_exists"), "already_exists"),
        (refused(0, "full", "no_space_left"), "resource_exhausted"),
        (refused(0, "odd", "io_error"), "internal"),
        (PlainTextResponse("<html>", 502), "internal"),
        (PlainTextResponse("no JSON"), "internal"),
        (PlainTextResponse('{"a":' * 100_000), "internal"),
        (PlainTextResponse("[1]", 400), "invalid_argument"),
    ],
)
async def test_a_failure_has_the_protocols_code(calls: SandboxCalls, stub: StubSandbox, answer: Response, code: str) -> None:
    stub.on("POST /v1/x", lambda _: answer)
    with pytest.raises(RPCError) as raised:
        await calls.call("POST", "/v1/x")
    assert raised.value.code == code


async def test_events_are_read_as_they_were_sent(calls: SandboxCalls, stub: StubSandbox) -> None:
    sent: list[tuple[str, dict[str, Any]]] = [("status", {"a": 1}), ("output", {"data": "ä\n\ud83d\ude00"})]
    stub.on("POST /v1/x", lambda _: events(*sent))
    assert [event async for event in calls.events("/v1/x", {})] == [("status", {"a": 1}), ("output", {"data": "ä\n😀"})]
    stub.on("GET /v1/x", lambda _: Response(": hi\r\nevent: a\r\ndata: 1\r\n\r\n", media_type="text/event-stream"))
    assert [event async for event in calls.events("/v1/x")] == [("a", {"data": 1})]


async def test_what_a_sandbox_sends_is_bounded(calls: SandboxCalls, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_calls, "MAX_ANSWER", 1000)
    stub.on("POST /v1/x", lambda _: Response(b" " * 1001))

    async def read() -> Any:
        return [event async for event in calls.events("/v1/x", {})]

    for reading in (calls.call("POST", "/v1/x"), read()):
        with pytest.raises(RPCError, match=r"more than|too long"):
            await reading


async def test_a_sandbox_that_is_away_is_said_so(clients: SandboxClients) -> None:
    with pytest.raises(RPCError, match="port is not open") as raised:
        await clients.calls(described("http://127.0.0.1:9")).call("POST", "/v1/x")
    assert raised.value.code == "unavailable"


async def test_the_home_is_asked_for_once(calls: SandboxCalls, stub: StubSandbox) -> None:
    assert [await calls.home(), await calls.home()] == ["/home/gem", "/home/gem"]
    assert len(stub.asked) == 1


def test_what_is_kept_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_calls, "KEPT", 2)
    kept: OrderedDict[str, int] = OrderedDict()
    for name in ("a", "b", "a", "c"):
        sandbox_calls._keep(kept, name, 1)
    assert list(kept) == ["a", "c"]


@pytest.mark.parametrize(("told", "home"), [("/home/me", "/home/me"), ("/" + "x" * 5000, "/home/gem"), (["/"], "/home/gem")])
async def test_a_home_is_a_path_of_some_length(clients: SandboxClients, stub: StubSandbox, told: Any, home: str, monkeypatch: Any) -> None:
    calls = clients.calls(described(stub.address))

    async def answer(*_: Any) -> dict[str, Any]:
        return {"home_dir": told}

    monkeypatch.setattr(calls, "_answer", answer)
    assert await calls.home() == home
