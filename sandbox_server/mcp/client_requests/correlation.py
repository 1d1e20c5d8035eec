"""The calls that run at one server: which of them a question belongs to that the server asks meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp_types import InputRequest, LoggingMessageNotificationParams

from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.client_requests.clients import CallingClient, ClientAnswer, refused

MAX_QUESTIONS = 8
"""Questions of one call that wait for its client at once."""


@dataclass(eq=False, slots=True)
class _Call:
    calling_client: CallingClient
    questions: Tasks = field(default_factory=Tasks)
    open: int = 0


class RunningCalls:
    """Calls of many clients on one connection.

    On standard streams a server does not say for which call it asks. It is the call that runs, or the latest one of a client that has
    several; where the clients differ nobody is asked, because the question may hold what is another's.
    """

    def __init__(self) -> None:
        self._running: list[_Call] = []

    @asynccontextmanager
    async def running(self, calling_client: CallingClient) -> AsyncIterator[None]:
        """While it is open the call runs; its end withdraws what is asked for it."""
        call = _Call(calling_client)
        self._running.append(call)
        try:
            yield
        finally:
            self._running.remove(call)
            await call.questions.close()

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Ask who called; the reason why not, where that cannot be told or the call ends first."""
        call = self._of_one_client()
        if call is None:
            return refused(f"{request.method}: calls of several clients run, or none, and it is not said which of them is asked")
        if call.open >= MAX_QUESTIONS:
            return refused(f"{request.method}: {MAX_QUESTIONS} questions wait for an answer already")
        call.open += 1
        asked = call.questions.start(call.calling_client.ask(request), name=request.method)
        try:
            await asyncio.wait([asked])
        finally:
            call.open -= 1
            asked.cancel()
        return refused(f"{request.method}: the call has ended") if asked.cancelled() else asked.result()

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Pass on what the server logs to who called, where that is one client."""
        if call := self._of_one_client():
            await call.calling_client.log(entry)

    def _of_one_client(self) -> _Call | None:
        clients = {call.calling_client.client for call in self._running}
        return self._running[-1] if len(clients) == 1 else None
