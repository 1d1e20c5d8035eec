"""Multi-round-trip calls."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, ClientCapabilities, ElicitationCapability, ElicitResult, InputRequiredResult

from sandbox_server.core import Conflict
from sandbox_server.mcp.client_requests import multi_round_trip as module
from sandbox_server.mcp.client_requests.multi_round_trip import MultiRoundTripCall, MultiRoundTripCalls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from tests.mcp.client_requests.test_capabilities import FORM
from tests.mcp.contexts import Requested
from tests.patience import eventually

pytestmark = pytest.mark.anyio

ABLE = ClientCapabilities(elicitation=ElicitationCapability())
FIRST = CallToolRequestParams(name="t")


@pytest.fixture
async def calls() -> AsyncIterator[MultiRoundTripCalls]:
    made = MultiRoundTripCalls(LogLevels())
    yield made
    await made.close()


async def asks(calling_client: MultiRoundTripCall) -> str:
    answer = await calling_client.ask(FORM)
    await calling_client.report(1)
    return answer.action if isinstance(answer, ElicitResult) else "refused"


def again(asked: InputRequiredResult, **answers: Any) -> CallToolRequestParams:
    [key] = asked.input_requests or {}
    given = {key: ElicitResult(action="accept"), **answers}
    return CallToolRequestParams(name="t", request_state=asked.request_state, input_responses=given)


async def begun(calls: MultiRoundTripCalls, context: Requested, work: Any = asks) -> InputRequiredResult:
    asked = await calls.run(context, FIRST, work)  # type: ignore[arg-type]
    assert isinstance(asked, InputRequiredResult)
    return asked


async def test_the_work_goes_on_when_the_client_comes_again_and_tells_that_request(calls: MultiRoundTripCalls) -> None:
    first, second = Requested(capabilities=ABLE), Requested(capabilities=ABLE)
    asked = await begun(calls, first)

    assert await calls.run(second, again(asked, other=ElicitResult(action="cancel")), asks) == "accept"  # type: ignore[arg-type]
    assert (first.session.progress, second.session.progress) == ([], [1])


async def test_an_answer_is_taken_once_and_from_who_was_asked(calls: MultiRoundTripCalls) -> None:
    asked = await begun(calls, Requested(capabilities=ABLE))
    with pytest.raises(MCPError, match="call the tool anew"):
        await calls.run(Requested("other", capabilities=ABLE), again(asked), asks)  # type: ignore[arg-type]
    await calls.run(Requested(capabilities=ABLE), again(asked), asks)  # type: ignore[arg-type]

    with pytest.raises(MCPError, match="call the tool anew"):
        await calls.run(Requested(capabilities=ABLE), again(asked), asks)  # type: ignore[arg-type]


async def test_what_was_not_answered_is_asked_again(calls: MultiRoundTripCalls) -> None:
    asked = await begun(calls, Requested(capabilities=ABLE))
    silent = CallToolRequestParams(name="t", request_state=asked.request_state)
    repeated = await calls.run(Requested(capabilities=ABLE), silent, asks)  # type: ignore[arg-type]

    assert isinstance(repeated, InputRequiredResult)
    assert repeated.input_requests == asked.input_requests
    assert repeated.request_state != asked.request_state


async def test_work_that_is_done_before_the_client_comes_again_waits_for_it(calls: MultiRoundTripCalls) -> None:
    ended = asyncio.Event()

    async def impatient(calling_client: MultiRoundTripCall) -> str:
        asking = asyncio.create_task(calling_client.ask(FORM))
        await ended.wait()
        asking.cancel()
        return "done without"

    asked = await begun(calls, Requested(capabilities=ABLE), impatient)
    ended.set()

    assert await calls.run(Requested(capabilities=ABLE), again(asked), asks) == "done without"  # type: ignore[arg-type]


async def test_what_fails_fails_the_request_that_waits(calls: MultiRoundTripCalls) -> None:
    async def fails(calling_client: MultiRoundTripCall) -> str:
        await calling_client.ask(FORM)
        raise Conflict("it went away")

    asked = await begun(calls, Requested(capabilities=ABLE), fails)
    with pytest.raises(Conflict, match="it went away"):
        await calls.run(Requested(capabilities=ABLE), again(asked), fails)  # type: ignore[arg-type]


async def test_a_client_that_goes_away_or_never_comes_again_ends_the_work(
    calls: MultiRoundTripCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_, ended = asyncio.Event(), list[str]()

    async def works(calling_client: MultiRoundTripCall) -> None:
        begun_.set()
        try:
            await calling_client.ask(FORM) if calling_client.caller == "asked" else await asyncio.Event().wait()
        finally:
            ended.append(calling_client.caller)

    waiting = asyncio.create_task(calls.run(Requested("gone"), FIRST, works))  # type: ignore[arg-type]
    await begun_.wait()
    waiting.cancel()
    await eventually(lambda: ended == ["gone"])
    monkeypatch.setattr(module, "RESUME_SECONDS", 0.0)
    await begun(calls, Requested("asked", capabilities=ABLE), works)
    await eventually(lambda: ended == ["gone", "asked"])


async def test_there_is_a_limit_to_what_waits(calls: MultiRoundTripCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SUSPENDED", 1)
    await begun(calls, Requested(capabilities=ABLE))
    with pytest.raises(MCPError, match="wait for an answer"):
        await calls.run(Requested(capabilities=ABLE), FIRST, asks)  # type: ignore[arg-type]
