"""Whom a question belongs to that does not say so."""

import asyncio

import pytest
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, ErrorData, LoggingMessageNotificationParams

from sandbox_server.mcp.client_requests.correlation import RunningCalls
from tests.mcp.fake_client import FakeClient
from tests.patience import eventually

pytestmark = pytest.mark.anyio

YES = ElicitResult(action="accept")
QUESTION = ElicitRequest(params=ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}}))


async def test_the_latest_call_of_the_only_client_is_asked() -> None:
    calls, first, second = RunningCalls(), FakeClient(answer=YES), FakeClient(answer=YES)
    async with calls.running(first), calls.running(second):
        assert await calls.ask(QUESTION) == YES

    assert (first.asked, second.asked) == ([], [QUESTION])


async def test_nobody_is_asked_or_told_while_calls_of_two_clients_run_or_none() -> None:
    calls, ann, bob = RunningCalls(), FakeClient("ann", YES), FakeClient("bob", YES)
    entry = LoggingMessageNotificationParams(level="info", data="x")
    none = await calls.ask(QUESTION)
    async with calls.running(ann), calls.running(bob):
        both = await calls.ask(QUESTION)
        await calls.log(entry)

    assert isinstance(none, ErrorData)
    assert isinstance(both, ErrorData)
    assert "several clients" in both.message
    assert (ann.asked, bob.asked, ann.logged, bob.logged) == ([], [], [], [])


async def test_a_question_ends_with_its_call_and_says_so_to_the_server() -> None:
    calls, client = RunningCalls(), FakeClient()
    async with calls.running(client):
        asking = asyncio.create_task(calls.ask(QUESTION))
        await eventually(lambda: client.asked)
    answer = await asking

    assert isinstance(answer, ErrorData)
    assert "has ended" in answer.message
    assert client.withdrawn == 1


async def test_a_question_that_the_server_takes_back_is_withdrawn() -> None:
    calls, client = RunningCalls(), FakeClient()
    async with calls.running(client):
        asking = asyncio.create_task(calls.ask(QUESTION))
        await eventually(lambda: client.asked)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await eventually(lambda: client.withdrawn)
