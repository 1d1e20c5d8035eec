"""The Connect protocol with JSON: calls with one answer, and streams of enveloped messages either way.

An envelope is a byte of flags, the length in four bytes and the message. The last one of an answer ends the stream and says how.
"""

import asyncio
import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tandem_fleet.e2b.messages import Message

MAX_MESSAGE = 4 << 20
"""Bytes of one message."""
UNARY_SECONDS = 300.0
RECEIVE_SECONDS = 60.0
"""How long the next part of a message may take to arrive, and a message outside of a stream."""
IDLE_SECONDS = 3600.0
"""How long a caller's stream may be silent between two messages."""
MAX_TIMEOUT_DIGITS = 10
PREFIX = struct.Struct(">BI")
COMPRESSED, END = 1, 2
UNARY_TYPE, STREAM_TYPE = "application/json", "application/connect+json"
STATUS = {
    "canceled": 499,
    "invalid_argument": 400,
    "deadline_exceeded": 504,
    "not_found": 404,
    "already_exists": 409,
    "permission_denied": 403,
    "resource_exhausted": 429,
    "failed_precondition": 400,
    "aborted": 409,
    "unimplemented": 501,
    "internal": 500,
    "unavailable": 503,
    "unauthenticated": 401,
}
"""The HTTP status of each code of an error."""


class RPCError(Exception):
    """A call that failed: one of the protocol's codes, and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def content(self) -> dict[str, str]:
        """As it is sent."""
        return {"code": self.code, "message": str(self)}


TOO_LATE = RPCError("deadline_exceeded", "the call took too long")


@dataclass(frozen=True)
class Unary:
    """A call with one message each way."""

    takes: type[Message]
    answer: Callable[[Any, Any], Awaitable[Message]]


@dataclass(frozen=True)
class ServerStream:
    """A call that is answered with a stream."""

    takes: type[Message]
    answer: Callable[[Any, Any], AsyncIterator[Message]]


@dataclass(frozen=True)
class ClientStream:
    """A call that sends a stream."""

    takes: type[Message]
    answer: Callable[[Any, AsyncIterator[Any]], Awaitable[Message]]


Method = Unary | ServerStream | ClientStream


def timeout_of(request: Request) -> float | None:
    """Seconds that the caller gives the call; None where it sets no limit. Raises `RPCError`."""
    text = request.headers.get("connect-timeout-ms", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_TIMEOUT_DIGITS):
        raise RPCError("invalid_argument", "Connect-Timeout-Ms takes up to ten digits")
    return int(text) / 1000 or None


async def serve(method: Method, context: Any, request: Request) -> Response:
    """Answer one request. `context` is given to the method before its message."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != (UNARY_TYPE if isinstance(method, Unary) else STREAM_TYPE):
        return Response(status_code=415, headers={"Accept-Post": UNARY_TYPE if isinstance(method, Unary) else STREAM_TYPE})
    if isinstance(method, Unary):
        return await _serve_unary(method, context, request)
    try:
        _require_plain(request, "connect-content-encoding")
        received = received_messages(method.takes, request)
        if isinstance(method, ServerStream):
            timeout_of(request)
            return StreamingResponse(_enveloped(method.answer(context, await _only(received))), media_type=STREAM_TYPE)
        async with asyncio.timeout(timeout_of(request)):
            answer = await method.answer(context, received)
    except RPCError as error:
        return Response(_end(error), media_type=STREAM_TYPE)
    except TimeoutError:
        return Response(_end(TOO_LATE), media_type=STREAM_TYPE)
    return Response(envelope(answer.to_json()) + _end(), media_type=STREAM_TYPE)


async def _serve_unary(method: Unary, context: Any, request: Request) -> Response:
    try:
        _require_plain(request, "content-encoding")
        async with asyncio.timeout(min(timeout_of(request) or UNARY_SECONDS, UNARY_SECONDS)):
            answer = await method.answer(context, parse(method.takes, await read_body(request)))
    except RPCError as error:
        return JSONResponse(error.content, STATUS.get(error.code, 500))
    except TimeoutError:
        return JSONResponse(TOO_LATE.content, STATUS[TOO_LATE.code])
    return Response(answer.to_json(), media_type=UNARY_TYPE)


def _require_plain(request: Request, header: str) -> None:
    if request.headers.get(header, "identity") != "identity":
        raise RPCError("unimplemented", "compressed messages are not taken")


async def read_body(request: Request) -> bytes:
    """A message that is not in a stream. Raises `RPCError` where it is too long."""
    body = bytearray()
    async with asyncio.timeout(RECEIVE_SECONDS):
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_MESSAGE:
                raise RPCError("resource_exhausted", f"a message has at most {MAX_MESSAGE} bytes")
    return bytes(body)


def parse(kind: type[Message], data: bytes) -> Message:
    """A message from its JSON. Raises `RPCError`."""
    try:
        return kind.model_validate_json(data or b"{}")
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "message"
        raise RPCError("invalid_argument", f"{where}: {first['msg']}") from error


async def _only(received: AsyncGenerator[Message, None]) -> Message:
    """The first message of a stream that has one."""
    async with aclosing(received):
        first = await anext(received, None)
    if first is None:
        raise RPCError("invalid_argument", "the stream has no message")
    return first


async def received_messages(kind: type[Message], request: Request) -> AsyncGenerator[Message, None]:
    """The messages that a caller streams, each parsed when it has arrived whole. Raises `RPCError`."""
    buffer = bytearray()
    chunks = request.stream()
    while True:
        while len(buffer) >= PREFIX.size:
            flags, length = PREFIX.unpack_from(buffer)
            if flags & ~END or length > MAX_MESSAGE:
                raise RPCError("resource_exhausted", f"a message is not compressed, and has at most {MAX_MESSAGE} bytes")
            if len(buffer) < PREFIX.size + length:
                break
            data = bytes(buffer[PREFIX.size : PREFIX.size + length])
            del buffer[: PREFIX.size + length]
            if flags & END:
                return
            yield parse(kind, data)
        chunk = await _next(chunks, RECEIVE_SECONDS if buffer else IDLE_SECONDS)
        if chunk is None:
            if buffer:
                raise RPCError("invalid_argument", "the stream ended within a message")
            return
        buffer += chunk


async def _next(chunks: AsyncIterator[bytes], seconds: float) -> bytes | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(chunks, None)
    except TimeoutError:
        raise RPCError("deadline_exceeded", f"nothing came for {seconds:g} s") from None


async def _enveloped(messages: AsyncIterator[Message]) -> AsyncIterator[bytes]:
    """The stream of an answer, and how it ended."""
    failed: RPCError | None = None
    try:
        async with aclosing(messages):  # type: ignore[type-var] # a generator
            async for message in messages:
                yield envelope(message.to_json())
    except RPCError as error:
        failed = error
    yield _end(failed)


def _end(failed: RPCError | None = None) -> bytes:
    """The envelope that ends a stream."""
    return envelope(json.dumps({"error": failed.content} if failed else {}).encode(), END)


def envelope(message: bytes, flags: int = 0) -> bytes:
    """A message as it stands in a stream."""
    return PREFIX.pack(flags, len(message)) + message
