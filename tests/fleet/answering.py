"""What a sandbox answers, over HTTP, as a test says it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from tests.waiting import eventually


@dataclass
class Call:
    """What was asked of it."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


Answer = tuple[int, Any] | Callable[[Call], Awaitable[tuple[int, Any]]]


@dataclass
class Answering:
    """A sandbox's API. It is ready; what else it says is in `answers`, by verb and path: a status with bytes, or with what becomes JSON."""

    answers: dict[str, Answer] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    address: str = ""

    def called(self, what: str) -> list[Call]:
        """The calls of a verb and path."""
        return [call for call in self.calls if f"{call.verb} {call.path}" == what]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one call."""
        body = bytearray()
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        call = Call(scope["method"], scope["path"], headers, bytes(body))
        self.calls.append(call)
        answer = self.answers.get(f"{call.verb} {call.path}", (200, {}) if call.path == "/readyz" else (404, {"message": "no such path"}))
        status, said = answer if isinstance(answer, tuple) else await answer(call)
        content = said if isinstance(said, bytes) else json.dumps(said).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": content})


@asynccontextmanager
async def answering() -> AsyncIterator[Answering]:
    """One that answers until the block ends."""
    sandbox = Answering()
    server = uvicorn.Server(uvicorn.Config(sandbox, port=0, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server._serve())
    await eventually(lambda: server.started)
    sandbox.address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield sandbox
    finally:
        server.should_exit = True
        await serving
