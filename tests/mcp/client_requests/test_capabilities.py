"""Which requests a client supports."""

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
    FormElicitationCapability,
    InputRequest,
    ListRootsRequest,
    RootsCapability,
    SamplingCapability,
    SamplingToolsCapability,
    Tool,
    UrlElicitationCapability,
)

from sandbox_server.mcp.client_requests.capabilities import missing_capability, result_type
from tests.tables import table_test

FORM = ElicitRequest(params=ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}}))
URL = ElicitRequest(params=ElicitRequestURLParams(message="?", url="https://example.com", elicitation_id="1"))
THINK = CreateMessageRequest(params=CreateMessageRequestParams(messages=[], max_tokens=1))
WITH_TOOLS = CreateMessageRequest(
    params=CreateMessageRequestParams(messages=[], max_tokens=1, tools=[Tool(name="t", input_schema={"type": "object"})])
)
BY_FORM = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
BY_URL = ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability()))


@table_test(
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
    ]
)
def test_what_a_client_says_that_it_can_decides(request_: InputRequest, capabilities: ClientCapabilities | None, lack: str | None) -> None:
    assert missing_capability(request_, capabilities) == (lack and f"the client that called does not support {lack}")


def test_each_question_has_its_kind_of_answer() -> None:
    assert [result_type(each) for each in (FORM, THINK, WITH_TOOLS)] == [ElicitResult, CreateMessageResult, CreateMessageResultWithTools]
