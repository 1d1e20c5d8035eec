"""The package from its wheel, and a server that answers as a test says."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client_wheel import unpacked_wheel

ROOT = Path(__file__).parents[3]
_stack = contextlib.ExitStack()
PACKAGE = _stack.enter_context(unpacked_wheel())
sys.path.insert(0, str(PACKAGE))


def pytest_sessionfinish() -> None:
    """Remove it."""
    _stack.close()


class Server:
    """Answers one request after another, and keeps them."""

    def __init__(self) -> None:
        self.answers: list[httpx.Response | Exception] = []
        self.asked: list[httpx.Request] = []

    def then(self, status: int, data: Any = None, headers: dict[str, str] | None = None, **envelope: Any) -> "Server":
        """Answer the next request with data in the envelope."""
        body = {"success": status < 400, "message": "said", "data": data, "hint": None, **envelope}
        self.answers.append(httpx.Response(status, json=body, headers=headers))
        return self

    def fail(self, error: Exception) -> "Server":
        """Break the next request."""
        self.answers.append(error)
        return self

    def events(self, *lines: str, broken: bool = False) -> "Server":
        """Answer the next request with lines of server-sent events."""

        class Lines(httpx.AsyncByteStream, httpx.SyncByteStream):
            def __iter__(self) -> Any:
                yield "".join(f"{line}\n" for line in lines).encode()
                if broken:
                    raise httpx.ReadError("it broke")

            async def __aiter__(self) -> Any:
                for piece in self:
                    yield piece

        self.answers.append(httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Lines()))
        return self

    def take(self, request: httpx.Request) -> httpx.Response:
        """Answer."""
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def body(self, number: int = -1) -> Any:
        """What a request held."""
        return json.loads(self.asked[number].content)


@pytest.fixture
def server() -> Server:
    return Server()
