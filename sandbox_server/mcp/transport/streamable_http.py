"""Streamable HTTP for every client: with or without a session, with server-sent events or plain JSON.

The SDK rejects a client that does not accept both JSON and events, and a call without a session. This transport accepts both:
it completes the `Accept` header before the SDK sees it. A client that cannot read events gets the last event as plain JSON.
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

from sandbox_server.core.errors import ResourceExhausted, TooLarge
from sandbox_server.core.identity import Caller
from sandbox_server.core.quota import Quota, Reservation
from sandbox_server.mcp.transport.sessions import MAX_SESSIONS, McpSessions

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Of one call's arguments. Larger files are uploaded over HTTP."""
SESSION = "mcp-session-id"
_BOTH = "application/json, text/event-stream"
_READS_EVENTS = "sandbox.reads_events"
_OLDEST = HANDSHAKE_PROTOCOL_VERSIONS[0]
"""The protocol version of a client that names none."""
_COPIES = 2
"""A body in memory: its bytes, and the values parsed from them."""
_BODY_WAIT_SECONDS = 10.0


class StreamableHttpTransport:
    """An ASGI application for one MCP server, with quotas for sessions, calls and request bodies."""

    def __init__(self, server: Server[Any]) -> None:
        self._sessions = StreamableHTTPSessionManager(server, max_request_body_size=MAX_BODY_BYTES, max_sessions=MAX_SESSIONS + 1)
        self._single = StreamableHTTPSessionManager(server, stateless=True, json_response=True, max_request_body_size=MAX_BODY_BYTES)
        self._known = McpSessions(self._end)
        self._calls = Quota("concurrent MCP calls", 512, programs=448, each=384)
        self._body_bytes = Quota("bytes of MCP request bodies", 384 << 20, programs=320 << 20, each=256 << 20)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the context is open; every session ends with it."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._sessions.run())
            await stack.enter_async_context(self._single.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        caller = Caller.from_headers(request.headers)
        if not caller:
            await _error("the request did not come through the gateway", 401)(scope, receive, send)
            return
        if request.method == "GET" and SESSION not in request.headers:
            await _error("events belong to a session; start one with initialize", 405, {"Allow": "POST, DELETE"})(scope, receive, send)
            return
        tracked = _TrackedSend(send)
        try:
            with self._body_bytes.take(caller.name, person=caller.person, size=0) as place:
                await self._answer(request, _PeekableBody(receive, place), tracked, caller.name, person=caller.person)
        except (ResourceExhausted, TooLarge) as refusal:
            if tracked.started:
                raise
            retry = {"Retry-After": str(round(refusal.retry_after))} if refusal.retry_after else None
            await _error(refusal.message, refusal.status, retry)(scope, receive, send)

    async def _answer(self, request: Request, body: "_PeekableBody", send: Send, caller: str, *, person: bool) -> None:
        scope = request.scope
        scope["user"] = AuthenticatedUser(
            AccessToken(token="", client_id=caller, scopes=[])
        )  # so that the SDK ties a session to its caller
        scope[_READS_EVENTS] = "text/event-stream" in request.headers.get("accept", "")
        if not reads_events(request) and request.method == "POST":
            if b'"subscriptions/listen"' in await body.peek() and _method(await body.peek()) == "subscriptions/listen":
                await _error("subscriptions/listen answers with events: accept text/event-stream", 406)(scope, body, send)
                return
            send = _EventsToJson(send)
        MutableHeaders(scope=scope)["accept"] = _BOTH
        if request.method != "POST":
            await self._continue(request, body, send)
            return
        with self._calls.take(caller, person=person):
            if not await self._needs_session(request, body):
                await self._single.handle_request(scope, body, send)
            elif SESSION in request.headers or request.headers.get("mcp-protocol-version", _OLDEST) not in HANDSHAKE_PROTOCOL_VERSIONS:
                await self._continue(request, body, send)
            else:
                await self._open(request, body, send, caller, person=person)

    async def _continue(self, request: Request, body: "_PeekableBody", send: Send) -> None:
        """Answer a request of an open session, or one of a protocol version without sessions."""
        session = request.headers.get(SESSION, "")
        with self._known.using(session):
            await self._sessions.handle_request(request.scope, body, send)
        if request.method == "DELETE":
            self._known.forget(session)

    async def _open(self, request: Request, body: "_PeekableBody", send: Send, caller: str, *, person: bool) -> None:
        """Answer a request that opens a session. Raises ResourceExhausted."""
        place, opened = await self._known.admit(caller, person=person), _SessionIdCapture(send)
        try:
            await self._sessions.handle_request(request.scope, body, opened)
        finally:
            if opened.session:
                self._known.note(opened.session, caller, place)
            else:
                place.close()

    async def _end(self, session: str, caller: str) -> None:
        """End a session as its client would: by DELETE."""
        headers = [(SESSION.encode(), session.encode()), (b"accept", _BOTH.encode())]
        user = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))
        scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers, "user": user}
        await self._sessions.handle_request(scope, _empty_body, _drop)

    async def _needs_session(self, request: Request, body: "_PeekableBody") -> bool:
        """Whether the session manager answers: the request has a session, opens one, or is of a version without them."""
        version = request.headers.get("mcp-protocol-version")
        if SESSION in request.headers:
            return True
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return True  # this manager answers versions without sessions too, and can stream progress
        return b'"initialize"' in await body.peek() and _method(await body.peek()) == "initialize"


class _PeekableBody:
    """A request body that can be read before the SDK receives it."""

    def __init__(self, receive: Receive, reservation: Reservation) -> None:
        self._receive = receive
        self._reservation = reservation
        self._seen: list[Message] = []
        self._whole = bytearray()

    async def peek(self) -> bytearray:
        """Read the whole body, or up to just over the limit; the SDK then refuses it."""
        while not self._seen or (self._seen[-1].get("more_body") and len(self._whole) <= MAX_BODY_BYTES):
            message = await self._take()
            self._seen.append(message)
            self._whole += message.get("body", b"")
        return self._whole

    async def __call__(self) -> Message:
        return self._seen.pop(0) if self._seen else await self._take()

    async def _take(self) -> Message:
        """Receive the next chunk and reserve memory for it. Raises ResourceExhausted."""
        message = await self._receive()
        await self._reservation.grow(_COPIES * len(message.get("body", b"")), _BODY_WAIT_SECONDS)
        return message


class _TrackedSend:
    """A `send` that records whether a response has started."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        self.started = True
        await self._send(message)


class _SessionIdCapture:
    """A `send` that records the id of the session that a response opens."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.session: str | None = None

    async def __call__(self, message: Message) -> None:
        for name, value in message.get("headers", ()):
            if name == SESSION.encode():
                self.session = value.decode("ascii")
        await self._send(message)


async def _empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _drop(_: Message) -> None:
    return None


class _EventsToJson:
    """A `send` that converts an event stream to plain JSON: the last event is the result."""

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
    """Whether the client of this request accepts server-sent events."""
    return request is not None and bool(request.scope.get(_READS_EVENTS))


def _is_events(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])


def _last_data(events: bytes) -> bytes:
    lines = [line for line in events.splitlines() if line.startswith(b"data:")]
    return lines[-1].removeprefix(b"data:").strip() if lines else b""


def _method(body: bytes | bytearray) -> object:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message.get("method") if isinstance(message, dict) else None


def _error(message: str, status: int, headers: dict[str, str] | None = None) -> Response:
    error = {"code": -32600, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)
