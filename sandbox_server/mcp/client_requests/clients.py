"""The client of a call, as an upstream server reaches it: sampling and elicitation requests, log messages, progress."""

import uuid
from collections.abc import Mapping
from typing import Protocol

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    InputRequest,
    LoggingMessageNotificationParams,
)
from pydantic import ValidationError

from sandbox_server.mcp.client_requests.capabilities import ClientAnswer, missing_capability, refused, result_type
from sandbox_server.mcp.notifications.log_levels import LogLevels, send_log
from sandbox_server.mcp.transport.request_context import RequestContext
from sandbox_server.mcp.transport.streamable_http import reads_events


class CallingClient(Protocol):
    """The client of one call: it may answer requests, and receive logs and progress, while the call runs."""

    @property
    def client(self) -> str:
        """An id that calls of one client share."""
        ...

    @property
    def waits_for_input(self) -> bool:
        """Whether the client gets no result until it has answered every request."""
        ...

    def refusal(self, request: InputRequest) -> str | None:
        """Why the client cannot get this request; None if it can."""
        ...

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Send a request; returns the answer or the error."""
        ...

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Forward a log message, if the client wants its level."""
        ...

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Forward progress, if the client gave a progress token."""
        ...


class PlainHttpClient:
    """A caller over plain HTTP, which no request can reach."""

    client = ""
    waits_for_input = False

    def refusal(self, request: InputRequest) -> str | None:
        """Refuse every request."""
        return f"a caller over plain HTTP cannot be asked ({request.method}): call the tool over /mcp"

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Return the refusal."""
        return refused(self.refusal(request) or "")

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Drop it: nobody listens."""

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it: nobody listens."""


class SessionClient:
    """A client of a protocol version with sessions. Requests go on the event stream of its running call."""

    waits_for_input = False

    def __init__(self, context: RequestContext, levels: LogLevels) -> None:
        self._context = context
        self._levels = levels
        self.client = _session_of(context)

    def refusal(self, request: InputRequest) -> str | None:
        """A missing capability, or no event stream to send on."""
        if missing := missing_capability(request, self._context.session.client_capabilities):
            return missing
        if not self._context.session.can_send_request or not reads_events(self._context.request):
            return f"the client cannot be asked ({request.method}): it has no session, or does not read events"
        return None

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Send the request; cancelling this withdraws it."""
        if reason := self.refusal(request):
            return refused(reason)
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            return await self._context.session.send_request(request, result_type(request), metadata=related)
        except MCPError as error:
            return error.error
        except ValidationError:
            return ErrorData(code=INTERNAL_ERROR, message=f"the client's answer to {request.method} is invalid")

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Send it on the call's stream."""
        await send_log(self._context, self._levels, entry)

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send it, if the call has a progress token."""
        await self._context.session.report_progress(progress, total, message)


def _session_of(context: RequestContext) -> str:
    headers: Mapping[str, str] = context.request.headers if context.request else {}
    return headers.get("mcp-session-id") or uuid.uuid4().hex
