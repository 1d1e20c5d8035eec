"""What a client can be asked."""

import pytest
from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    FormElicitationCapability,
    InputRequest,
    ListRootsRequest,
    RootsCapability,
    SamplingCapability,
    SamplingToolsCapability,
    Tool,
    UrlElicitationCapability,
)

from sandbox_server.mcp.client_requests.clients import PlainHttpClient, SessionClient, answer_type, missing_capability
from sandbox_server.mcp.notifications.log_levels import LogLevels
from tests.mcp.contexts import Requested

pytestmark = pytest.mark.anyio

FORM = ElicitRequest(params=ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}}))
URL = ElicitRequest(params=ElicitRequestURLParams(message="?", url="https://example.com", elicitation_id="1"))
THINK = CreateMessageRequest(params=CreateMessageRequestParams(messages=[], max_tokens=1))
WITH_TOOLS = CreateMessageRequest(
    params=CreateMessageRequestParams(messages=[], max_tokens=1, tools=[Tool(name="t", input_schema={"type": "object"})])
)
BY_FORM = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
BY_URL = ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability()))


@pytest.mark.parametrize(
    ("request_", "able", "lack"),
    [
        (FORM, None, "elicitation"),
        (FORM, ClientCapabilities(), "elicitation"),
        (FORM, ClientCapabilities(elicitation=ElicitationCapability()), None),
        (FORM, BY_FORM, None),
        (FORM, BY_URL, "elicitation"),
        (URL, BY_FORM, "elicitation by URL"),
        (URL, BY_URL, None),
        (THINK, BY_FORM, "sampling"),
        (THINK, ClientCapabilities(sampling=SamplingCapability()), None),
        (WITH_TOOLS, ClientCapabilities(sampling=SamplingCapability()), "sampling with tools"),
        (WITH_TOOLS, ClientCapabilities(sampling=SamplingCapability(tools=SamplingToolsCapability())), None),
        (ListRootsRequest(), ClientCapabilities(roots=RootsCapability()), "roots"),
    ],
)
def test_what_a_client_says_that_it_can_decides(request_: InputRequest, able: ClientCapabilities | None, lack: str | None) -> None:
    assert missing_capability(request_, able) == (lack and f"the client that called does not support {lack}")


def test_each_question_has_its_kind_of_answer() -> None:
    assert [answer_type(each) for each in (FORM, THINK, WITH_TOOLS)] == [ElicitResult, CreateMessageResult, CreateMessageResultWithTools]


async def test_a_client_that_reads_no_events_is_not_asked_although_it_could_answer() -> None:
    calling_client = SessionClient(Requested(able=BY_FORM), LogLevels())  # type: ignore[arg-type]
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
