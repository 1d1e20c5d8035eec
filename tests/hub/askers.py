"""A caller of a test's own."""

import asyncio

from mcp_types import ElicitResult, InputRequest, LoggingMessageNotificationParams

from sandbox_server.hub.asking import Answer


class FakeClient:
    """A client that answers as it is told to, and keeps what it hears."""

    def __init__(self, client: str = "one", answer: Answer | None = None, *, is_held_up: bool = False) -> None:
        self.client = client
        self.is_held_up = is_held_up
        self.told: list[tuple[float, float | None, str | None]] = []
        self.logged: list[str] = []
        self.asked: list[InputRequest] = []
        self.withdrawn = 0
        self._answer = answer

    def lacks(self, request: InputRequest) -> str | None:
        """Nothing."""
        return None

    async def ask(self, request: InputRequest) -> Answer:
        """Answer, or think about it until the question is withdrawn."""
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
        """Keep it."""
        self.logged.append(str(entry.data))

    async def report(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Keep it."""
        self.told.append((progress, total, message))
