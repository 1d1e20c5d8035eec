"""The SDK's own client over HTTP, with a user and a model."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CreateMessageResult, ElicitResult, TextContent

from tests.patience import PATIENCE_SECONDS

ERAS = ("legacy", "2026-07-28")
"""Protocol versions with sessions, and the one without."""


class Person:
    """The user and the model of a client, and what they received."""

    def __init__(self, answer: str | None = "blue") -> None:
        self.asked: list[str] = []
        self.logged: list[str] = []
        self.noticed: list[str] = []
        self.progress: list[str | None] = []
        self._answer = answer

    async def elicit(self, _: Any, params: Any) -> ElicitResult:
        """Answer with a text, or decline."""
        self.asked.append(params.message)
        return ElicitResult(action="decline") if self._answer is None else ElicitResult(action="accept", content={"text": self._answer})

    async def think(self, _: Any, params: Any) -> CreateMessageResult:
        """Think."""
        return CreateMessageResult(role="assistant", model="m", content=TextContent(text=f"thought of {params.messages[0].content.text}"))

    async def log(self, params: Any) -> None:
        """Record a log message."""
        self.logged.append(params.data)

    async def notice(self, message: Any) -> None:
        """Record a notification."""
        self.noticed.append(getattr(message, "method", repr(message)))

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Record progress."""
        self.progress.append(message)

    @property
    def able(self) -> dict[str, Any]:
        """The options of a client with every capability."""
        return {"elicitation_callback": self.elicit, "sampling_callback": self.think, "log_level": "info", **self.deaf}

    @property
    def deaf(self) -> dict[str, Any]:
        """The options of a client without sampling and elicitation."""
        return {"logging_callback": self.log, "message_handler": self.notice}


@asynccontextmanager
async def client_of(url: str, era: str, headers: dict[str, str], **options: Any) -> AsyncIterator[Client]:
    """A client of a protocol version."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS))
        yield await stack.enter_async_context(
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=era, cache=None, **options)
        )
