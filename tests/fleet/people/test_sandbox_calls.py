"""Calls of sandboxes: what they answer is bounded, whatever they send."""

import asyncio

import jwt
import pytest
from tandem_fleet.people import sandbox_calls
from tandem_fleet.people.answers import UnusableAnswer
from tandem_fleet.people.sandbox_calls import Answer, SandboxCalls

from tests.fleet.people.sandboxes import ready
from tests.fleet.stub_sandbox import StubSandbox

pytestmark = pytest.mark.anyio


async def test_a_call_has_a_token_for_that_sandbox_alone_and_counts_as_a_persons(calls: SandboxCalls, stub: StubSandbox) -> None:
    one = ready(stub.address)
    answer = await calls.call(one, "POST", "/v1/x", scopes=["view", "control"], person="ann", body={"a": 1})
    assert (answer.status, answer.content) == (200, b"{}")
    [came] = stub.requests
    claims = jwt.decode(came.headers["authorization"].removeprefix("Bearer "), options={"verify_signature": False})
    assert (claims["aud"], claims["sub"], claims["scope"], claims["actor"]) == (one.id, "ann", "control view", "person")
    assert came.body == {"a": 1}


async def test_too_much_is_not_read(calls: SandboxCalls, stub: StubSandbox) -> None:
    stub.answers["GET /big"] = (200, b"x" * (sandbox_calls.MOST_BYTES + 1))
    with pytest.raises(UnusableAnswer, match="too much"):
        await calls.call(ready(stub.address), "GET", "/big")


async def test_who_does_not_answer_is_not_waited_for(calls: SandboxCalls, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_calls, "CALL_SECONDS", 0.2)
    stub.hangs = True
    async with asyncio.timeout(30):
        for address in (stub.address, "http://127.0.0.1:9", ""):
            with pytest.raises(UnusableAnswer):
                await calls.call(ready(address), "GET", "/")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"message": "no\\u202e scope"}', "no  scope"),
        (b"[]", "answered 403"),
        (b"\xff", "403"),
        (b'{"message": 7}', "answered 403"),
    ],
)
def test_a_refusal_is_a_line_of_text(content: bytes, said: str) -> None:
    assert said in Answer(403, {}, content).message


async def test_a_stream_that_is_none_is_refused(calls: SandboxCalls, stub: StubSandbox) -> None:
    stub.answers["GET /v1"] = (200, {})
    with pytest.raises(UnusableAnswer):
        async with calls.follow(ready(stub.address), "/v1/handoffs/events"):
            pass
