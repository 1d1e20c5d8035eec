"""A sandbox of the tests: a server that answers Tandem's operations as a test says, and writes down what it is asked."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State

Handler = Callable[[dict[str, Any]], Any]
NOT_FOUND = JSONResponse({"success": False, "message": "Session not found", "data": None}, 404)


@dataclass
class StubSandbox:
    """What it answers by method and path, and what it was asked."""

    address: str = ""
    handlers: dict[str, Handler] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def on(self, what: str, handler: Handler) -> None:
        """Have `POST /v1/…` answered: with `data`, or with a response."""
        self.handlers[what] = handler

    def calls(self, what: str) -> list[dict[str, Any]]:
        """The fields of each call of an operation."""
        return [fields for name, fields in self.asked if name == what]

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        if request.url.path == "/readyz":
            return Response()
        body = await request.body()
        fields = dict(request.query_params)
        if request.headers.get("content-type") == "application/json":
            fields |= json.loads(body)
        what = f"{request.method} {request.url.path}"
        self.asked.append((what, fields))
        self.headers.append(dict(request.headers))
        self.bodies.append(body)
        if what == "GET /v1/sandbox":
            return JSONResponse({"success": True, "home_dir": "/home/gem"})
        handler = self.handlers.get(what)
        if handler is None:
            return NOT_FOUND
        answer = handler(fields)
        if isinstance(answer, Response):
            streamed = answer.media_type == "text/event-stream"
            if not streamed or request.headers.get("accept") == "text/event-stream":
                return answer
            answer = {}
        return Response(json.dumps({"success": True, "data": answer}), media_type="application/json")


def refused(status: int, message: str, error_type: str | None = None) -> Response:
    """A failure in the sandbox's envelope; one of files is a 200."""
    data = {"error_type": error_type} if error_type else None
    return JSONResponse({"success": False, "message": message, "data": data}, 200 if error_type else status)


def events(*sent: tuple[str, dict[str, Any]]) -> Response:
    """A stream of events that ends."""
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in sent)
    return Response(text, media_type="text/event-stream")


def described(address: str, number: str = "abc") -> Sandbox:
    """A sandbox that is ready at an address."""
    words = {"id": number, "name": number, "tenant": "default", "spec": Spec(), "address": address}
    return Sandbox.model_validate(words | {"desired": Desired.RUNNING, "state": State.READY, "created_at": 0, "changed_at": 0})


@asynccontextmanager
async def serving(stub: StubSandbox) -> AsyncIterator[StubSandbox]:
    """Serve it on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    stub.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    methods = ["GET", "POST", "DELETE", "PUT"]
    app = Starlette(routes=[Route("/{path:path}", stub.answer, methods=methods)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    task = asyncio.create_task(server._serve([listener]))
    try:
        yield stub
    finally:
        server.should_exit = True
        await task
        listener.close()
