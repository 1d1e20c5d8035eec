"""Streamable HTTP for every client: with and without a session, with plain JSON answers where events are not understood.

The SDK refuses a client that does not accept both JSON and events, and a call without a session. Here both are let in: `Accept` is
completed before the SDK sees it, and where the client cannot read events its one answer is taken out of them.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

MAX_BODY_BYTES = 64 * 1024 * 1024
"""A call's arguments may be this large; larger files are uploaded over HTTP."""
MAX_SESSIONS = 1000
_BOTH = "application/json, text/event-stream"
_READS_EVENTS = "sandbox.reads_events"


class Transport:
    """An ASGI application for one MCP server."""

    def __init__(self, server: Server[Any]) -> None:
        self._sessions = StreamableHTTPSessionManager(server, max_request_body_size=MAX_BODY_BYTES, max_sessions=MAX_SESSIONS)
        self._single = StreamableHTTPSessionManager(server, stateless=True, json_response=True, max_request_body_size=MAX_BODY_BYTES)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the context is open; sessions end with it."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._sessions.run())
            await stack.enter_async_context(self._single.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        caller = request.headers.get("x-sandbox-caller")
        if not caller:
            await _error("the request did not come through the gateway", 401)(scope, receive, send)
            return
        if request.method == "GET" and "mcp-session-id" not in request.headers:
            await _error("events belong to a session; start one with initialize", 405, {"Allow": "POST, DELETE"})(scope, receive, send)
            return
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))  # a session is its caller's alone
        body = _Body(receive)
        scope[_READS_EVENTS] = "text/event-stream" in request.headers.get("accept", "")
        if not reads_events(request) and request.method == "POST":
            if b'"subscriptions/listen"' in await body.peek() and _method(await body.peek()) == "subscriptions/listen":
                await _error("what is listened to comes as events: accept text/event-stream", 406)(scope, body, send)
                return
            send = _AnswerOnly(send)
        MutableHeaders(scope=scope)["accept"] = _BOTH
        manager = self._sessions if await self._in_session(request, body) else self._single
        await manager.handle_request(scope, body, send)

    async def _in_session(self, request: Request, body: "_Body") -> bool:
        """Whether the request has a session, or opens one; every other call stands on its own."""
        version = request.headers.get("mcp-protocol-version")
        if "mcp-session-id" in request.headers or request.method != "POST":
            return True
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return True  # this manager answers versions without sessions too, and can stream progress
        return b'"initialize"' in await body.peek() and _method(await body.peek()) == "initialize"


class _Body:
    """A request body that can be looked at before it is handed on."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._seen: list[Message] = []
        self._whole = b""

    async def peek(self) -> bytes:
        """The whole body, or as much as is over the limit, which the SDK then refuses."""
        while not self._seen or (self._seen[-1].get("more_body") and len(self._whole) <= MAX_BODY_BYTES):
            message = await self._receive()
            self._seen.append(message)
            self._whole += message.get("body", b"")
        return self._whole

    async def __call__(self) -> Message:
        return self._seen.pop(0) if self._seen else await self._receive()


class _AnswerOnly:
    """A `send` that turns a response of events into the JSON of its last one, which is the answer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._events = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_events(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            await self._collect(message)

    async def _collect(self, message: Message) -> None:
        self._events += message.get("body", b"")
        if not message.get("more_body"):
            body = _last_data(bytes(self._events))
            headers = [(name, value) for name, value in self._start["headers"] if name == b"mcp-session-id"] if self._start else []
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})


def reads_events(request: Request | None) -> bool:
    """Whether the client of a request that came this way said that it takes events."""
    return request is not None and bool(request.scope.get(_READS_EVENTS))


def _is_events(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])


def _last_data(events: bytes) -> bytes:
    lines = [line for line in events.splitlines() if line.startswith(b"data:")]
    return lines[-1].removeprefix(b"data:").strip() if lines else b""


def _method(body: bytes) -> object:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message.get("method") if isinstance(message, dict) else None


def _error(message: str, status: int, headers: dict[str, str] | None = None) -> Response:
    error = {"code": -32600, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)
