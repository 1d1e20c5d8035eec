"""Calls that are asked by their own answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, ClientCapabilities, ElicitationCapability, ElicitResult, InputRequiredResult

from sandbox_server.core import Conflict
from sandbox_server.hub import rounds as module
from sandbox_server.hub.log_levels import LogLevels
from sandbox_server.hub.rounds import Round, Rounds
from tests.hub.contexts import Requested
from tests.hub.test_asking import FORM
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

ABLE = ClientCapabilities(elicitation=ElicitationCapability())
FIRST = CallToolRequestParams(name="t")


@pytest.fixture
async def rounds() -> AsyncIterator[Rounds]:
    made = Rounds(LogLevels())
    yield made
    await made.close()


async def asks(asker: Round) -> str:
    answer = await asker.ask(FORM)
    await asker.report(1)
    return answer.action if isinstance(answer, ElicitResult) else "refused"


def again(asked: InputRequiredResult, **answers: Any) -> CallToolRequestParams:
    [key] = asked.input_requests or {}
    given = {key: ElicitResult(action="accept"), **answers}
    return CallToolRequestParams(name="t", request_state=asked.request_state, input_responses=given)


async def begun(rounds: Rounds, context: Requested, work: Any = asks) -> InputRequiredResult:
    asked = await rounds.serve(context, FIRST, work)  # type: ignore[arg-type]
    assert isinstance(asked, InputRequiredResult)
    return asked


async def test_the_work_goes_on_when_the_client_comes_again_and_tells_that_request(rounds: Rounds) -> None:
    first, second = Requested(able=ABLE), Requested(able=ABLE)
    asked = await begun(rounds, first)

    assert await rounds.serve(second, again(asked, other=ElicitResult(action="cancel")), asks) == "accept"  # type: ignore[arg-type]
    assert (first.session.progress, second.session.progress) == ([], [1])


async def test_an_answer_is_taken_once_and_from_who_was_asked(rounds: Rounds) -> None:
    asked = await begun(rounds, Requested(able=ABLE))
    with pytest.raises(MCPError, match="call the tool anew"):
        await rounds.serve(Requested("other", able=ABLE), again(asked), asks)  # type: ignore[arg-type]
    await rounds.serve(Requested(able=ABLE), again(asked), asks)  # type: ignore[arg-type]

    with pytest.raises(MCPError, match="call the tool anew"):
        await rounds.serve(Requested(able=ABLE), again(asked), asks)  # type: ignore[arg-type]


async def test_what_was_not_answered_is_asked_again(rounds: Rounds) -> None:
    asked = await begun(rounds, Requested(able=ABLE))
    silent = CallToolRequestParams(name="t", request_state=asked.request_state)
    repeated = await rounds.serve(Requested(able=ABLE), silent, asks)  # type: ignore[arg-type]

    assert isinstance(repeated, InputRequiredResult)
    assert repeated.input_requests == asked.input_requests
    assert repeated.request_state != asked.request_state


async def test_work_that_is_done_before_the_client_comes_again_waits_for_it(rounds: Rounds) -> None:
    ended = asyncio.Event()

    async def impatient(asker: Round) -> str:
        asking = asyncio.create_task(asker.ask(FORM))
        await ended.wait()
        asking.cancel()
        return "done without"

    asked = await begun(rounds, Requested(able=ABLE), impatient)
    ended.set()

    assert await rounds.serve(Requested(able=ABLE), again(asked), asks) == "done without"  # type: ignore[arg-type]


async def test_what_fails_fails_the_request_that_waits(rounds: Rounds) -> None:
    async def fails(asker: Round) -> str:
        await asker.ask(FORM)
        raise Conflict("it went away")

    asked = await begun(rounds, Requested(able=ABLE), fails)
    with pytest.raises(Conflict, match="it went away"):
        await rounds.serve(Requested(able=ABLE), again(asked), fails)  # type: ignore[arg-type]


async def test_a_client_that_goes_away_or_never_comes_again_ends_the_work(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    begun_, ended = asyncio.Event(), list[str]()

    async def works(asker: Round) -> None:
        begun_.set()
        try:
            await asker.ask(FORM) if asker.caller == "asked" else await asyncio.Event().wait()
        finally:
            ended.append(asker.caller)

    waiting = asyncio.create_task(rounds.serve(Requested("gone"), FIRST, works))  # type: ignore[arg-type]
    await begun_.wait()
    waiting.cancel()
    await eventually(lambda: ended == ["gone"])
    monkeypatch.setattr(module, "PARKED_SECONDS", 0.0)
    await begun(rounds, Requested("asked", able=ABLE), works)
    await eventually(lambda: ended == ["gone", "asked"])


async def test_there_is_a_limit_to_what_waits(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PARKED", 1)
    await begun(rounds, Requested(able=ABLE))
    with pytest.raises(MCPError, match="wait for an answer"):
        await rounds.serve(Requested(able=ABLE), FIRST, asks)  # type: ignore[arg-type]
