"""Request correlation: which running call an upstream server's request belongs to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp_types import InputRequest, LoggingMessageNotificationParams

from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.client_requests.capabilities import ClientAnswer, refused
from sandbox_server.mcp.client_requests.clients import CallingClient

MAX_REQUESTS = 8
"""Requests of one call that wait for its client at once."""


@dataclass(eq=False, slots=True)
class _Call:
    calling_client: CallingClient
    requests: Tasks = field(default_factory=Tasks)
    open: int = 0


class RunningCalls:
    """Calls of many clients on one connection.

    Over stdio a request does not name its call. It belongs to the running call, or to the latest one of a client that has several.
    While calls of several clients run it is refused, because it may hold another client's data.
    """

    def __init__(self) -> None:
        self._running: list[_Call] = []

    @asynccontextmanager
    async def running(self, calling_client: CallingClient) -> AsyncIterator[None]:
        """Register a call while the context is open. Its end withdraws the open requests."""
        call = _Call(calling_client)
        self._running.append(call)
        try:
            yield
        finally:
            self._running.remove(call)
            await call.requests.close()

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Send a request to the calling client; an error if the client is ambiguous or the call ends first."""
        call = self._of_one_client()
        if call is None:
            return refused(f"{request.method}: calls of several clients run, or none, so the client of this request is unknown")
        if call.open >= MAX_REQUESTS:
            return refused(f"{request.method}: {MAX_REQUESTS} requests of this call already wait for an answer")
        call.open += 1
        asked = call.requests.start(call.calling_client.ask(request), name=request.method)
        try:
            await asyncio.wait([asked])
        finally:
            call.open -= 1
            asked.cancel()
        return refused(f"{request.method}: the call has ended") if asked.cancelled() else asked.result()

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Forward a log message to the calling client, if it is one client."""
        if call := self._of_one_client():
            await call.calling_client.log(entry)

    def _of_one_client(self) -> _Call | None:
        clients = {call.calling_client.client for call in self._running}
        return self._running[-1] if len(clients) == 1 else None
