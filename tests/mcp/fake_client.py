"""A calling client for tests."""

import asyncio

from mcp_types import ElicitResult, InputRequest, LoggingMessageNotificationParams

from sandbox_server.mcp.client_requests.capabilities import ClientAnswer


class FakeClient:
    """A client with a fixed answer, which records what it receives."""

    def __init__(self, client: str = "one", answer: ClientAnswer | None = None, *, waits_for_input: bool = False) -> None:
        self.client = client
        self.waits_for_input = waits_for_input
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.logged: list[str] = []
        self.asked: list[InputRequest] = []
        self.withdrawn = 0
        self._answer = answer

    def refusal(self, request: InputRequest) -> str | None:
        """Refuse nothing."""
        return None

    async def ask(self, request: InputRequest) -> ClientAnswer:
        """Answer, or wait until the request is withdrawn."""
        self.asked.append(request)
        if self._answer is not None:
            return self._answer
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return ElicitResult(action="cancel")

    async def log(self, entry: LoggingMessageNotificationParams) -> None:
        """Record it."""
        self.logged.append(str(entry.data))

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Record it."""
        self.progress.append((progress, total, message))
