"""What a server behind the hub may ask of the client that called it: its model and its user."""

import uuid
from collections.abc import Mapping
from typing import Protocol

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INTERNAL_ERROR,
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
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from pydantic import ValidationError

from sandbox_server.mcp.message_limits import without_controls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.tools.api_tools import Context
from sandbox_server.mcp.transport.streamable_http import reads_events

type ClientAnswer = InputResponse | ErrorData


class CallingClient(Protocol):
    """Who called, as far as it can be asked something and told something meanwhile."""

    @property
    def client(self) -> str:
        """The same for two calls if both belong to one client."""
        ...

    @property
    def waits_for_input(self) -> bool:
        """Whether the client gets no result before it has answered what it was asked."""
        ...

    def refusal(self, request: InputRequest) -> str | None:
        """Why it cannot be asked that; None where it can."""
        ...

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Its answer, or why there is none."""
        ...

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Pass on what a server logs, where the client wants to know."""
        ...

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Pass on how far it is, where the client wants to know."""
        ...


class PlainHttpClient:
    """A caller over plain HTTP."""

    client = ""
    waits_for_input = False

    def refusal(self, request: InputRequest) -> str | None:
        """Everything."""
        return f"who called did so over plain HTTP and cannot be asked ({request.method}): call the tool over /mcp"

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Nothing but why not."""
        return refused(self.refusal(request) or "")

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Drop it."""

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it."""


class SessionClient:
    """A client of a protocol version with sessions: it is asked on the stream on which it waits for the call's result."""

    waits_for_input = False

    def __init__(self, context: Context, levels: LogLevels) -> None:
        self._context = context
        self._levels = levels
        self.client = _session_of(context)

    def refusal(self, request: InputRequest) -> str | None:
        """What its capabilities say, or that nothing reaches it."""
        if missing := missing_capability(request, self._context.session.client_capabilities):
            return missing
        if not self._context.session.can_send_request or not reads_events(self._context.request):
            return f"the client cannot be asked ({request.method}): it has no session, or does not read events"
        return None

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Ask, and withdraw the question if this is cancelled."""
        if reason := self.refusal(request):
            return refused(reason)
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            return await self._context.session.send_request(request, answer_type(request), metadata=related)
        except MCPError as error:
            return error.error
        except ValidationError:
            return ErrorData(code=INTERNAL_ERROR, message=f"the client's answer to {request.method} cannot be understood")

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Send it along with the call."""
        await send_log(self._context, self._levels, entry)

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send it, if the call came with a token."""
        await self._context.session.report_progress(progress, total, message)


def missing_capability(request: InputRequest, able: ClientCapabilities | None) -> str | None:
    """What a client does not do of what the answer takes, in a sentence; None where it does all."""
    sampling, elicitation = (able.sampling, able.elicitation) if able else (None, None)
    match request:
        case ElicitRequest(params=ElicitRequestURLParams(url=url)) if not url.startswith(("https://", "http://")):
            return "a server may ask its client's user to open a page of http or https alone"
        case CreateMessageRequest(params=params):
            missing = "sampling" if sampling is None else "sampling with tools" if params.tools and sampling.tools is None else None
        case ElicitRequest(params=ElicitRequestURLParams()):
            missing = "elicitation by URL" if elicitation is None or elicitation.url is None else None
        case ElicitRequest():  # a client that names neither form nor URL has forms
            missing = "elicitation" if elicitation is None or (elicitation.form is None and elicitation.url is not None) else None
        case ListRootsRequest():
            missing = "roots"
    return missing and f"the client that called does not support {missing}"


def answer_type(request: InputRequest) -> type[CreateMessageResult | CreateMessageResultWithTools | ElicitResult]:
    """What the answer to a request is."""
    if isinstance(request, ElicitRequest):
        return ElicitResult
    with_tools = isinstance(request, CreateMessageRequest) and (request.params.tools or request.params.tool_choice)
    return CreateMessageResultWithTools if with_tools else CreateMessageResult


def attributed(server: str, request: InputRequest) -> InputRequest:
    """A server's question as its user is to see it: whose it is stands first, for its own words may say anything."""
    if not isinstance(request, ElicitRequest):
        return request
    message = f"The MCP server {server!r} asks: {without_controls(request.params.message)}"
    return request.model_copy(update={"params": request.params.model_copy(update={"message": message})})


def refused(reason: str) -> ErrorData:
    """The answer of a client that cannot be asked."""
    return ErrorData(code=INVALID_REQUEST, message=reason)


async def send_log(context: Context, levels: LogLevels, entry: LoggingMessageNotificationParams) -> None:
    """Send what a server logs along with the call that a context belongs to, where its client wants that level."""
    if entry.level in levels.wanted(context):
        await context.session.send_notification(LoggingMessageNotification(params=entry), related_request_id=context.request_id)


def _session_of(context: Context) -> str:
    headers: Mapping[str, str] = context.request.headers if context.request else {}
    return headers.get("mcp-session-id") or uuid.uuid4().hex
