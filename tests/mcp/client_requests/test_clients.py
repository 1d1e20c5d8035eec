"""Requests to the client of a call, and to none."""

import pytest
from mcp_types import ErrorData

from sandbox_server.mcp.client_requests.clients import PlainHttpClient, SessionClient
from sandbox_server.mcp.notifications.log_levels import LogLevels
from tests.mcp.client_requests.test_capabilities import BY_FORM, FORM, THINK
from tests.mcp.contexts import Requested

pytestmark = pytest.mark.anyio


async def test_a_client_that_reads_no_events_is_not_asked_although_it_could_answer() -> None:
    calling_client = SessionClient(Requested(capabilities=BY_FORM), LogLevels())  # type: ignore[arg-type]
    answer = await calling_client.ask(FORM)

    assert isinstance(answer, ErrorData)
    assert "does not read events" in answer.message


async def test_nobody_is_asked_over_plain_http() -> None:
    answer = await PlainHttpClient().ask(THINK)

    assert isinstance(answer, ErrorData)
    assert "plain HTTP" in answer.message


def test_calls_of_one_session_are_of_one_client_and_others_of_different_ones() -> None:
    def client(**headers: str) -> str:
        return SessionClient(Requested(**headers), LogLevels()).client  # type: ignore[arg-type]

    assert client(mcp_session_id="s") == client(mcp_session_id="s")
    assert client() != client()
