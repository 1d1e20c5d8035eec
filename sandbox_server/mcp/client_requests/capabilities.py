"""Which requests an MCP client supports, by its declared capabilities, and how a request to it looks."""

from mcp_types import (
    INVALID_REQUEST,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    InputRequest,
    InputResponse,
    ListRootsRequest,
)

from sandbox_server.mcp.message_limits import without_controls

type ClientAnswer = InputResponse | ErrorData


def missing_capability(request: InputRequest, capabilities: ClientCapabilities | None) -> str | None:
    """The capability that a request needs and the client lacks, as a sentence; None if it lacks none."""
    sampling, elicitation = (capabilities.sampling, capabilities.elicitation) if capabilities else (None, None)
    match request:
        case ElicitRequest(params=ElicitRequestURLParams(url=url)) if not url.startswith(("https://", "http://")):
            return "a server may ask its client's user to open http and https pages only"
        case CreateMessageRequest(params=params):
            missing = "sampling" if sampling is None else "sampling with tools" if params.tools and sampling.tools is None else None
        case ElicitRequest(params=ElicitRequestURLParams()):
            missing = "elicitation by URL" if elicitation is None or elicitation.url is None else None
        case ElicitRequest():  # a client that declares neither form nor URL supports forms
            missing = "elicitation" if elicitation is None or (elicitation.form is None and elicitation.url is not None) else None
        case ListRootsRequest():
            missing = "roots"
    return missing and f"the client that called does not support {missing}"


def result_type(request: InputRequest) -> type[CreateMessageResult | CreateMessageResultWithTools | ElicitResult]:
    """The result type of a request."""
    if isinstance(request, ElicitRequest):
        return ElicitResult
    with_tools = isinstance(request, CreateMessageRequest) and (request.params.tools or request.params.tool_choice)
    return CreateMessageResultWithTools if with_tools else CreateMessageResult


def attributed_to(server: str, request: InputRequest) -> InputRequest:
    """An elicitation whose message begins with the server's name, so that no server can pose as another."""
    if not isinstance(request, ElicitRequest):
        return request
    message = f"The MCP server {server!r} asks: {without_controls(request.params.message)}"
    return request.model_copy(update={"params": request.params.model_copy(update={"message": message})})


def refused(reason: str) -> ErrorData:
    """The error that a server gets when its request is refused."""
    return ErrorData(code=INVALID_REQUEST, message=reason)
