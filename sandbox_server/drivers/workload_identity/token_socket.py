"""A Unix socket in the box that answers HTTP: programs get tokens without a key of the API's.

The kernel says who is connected (SO_PEERCRED, unix(7)). The answers are for the agent's user and root; each connection gets one.
gVisor says this process's own ids: there the directory's mode keeps others out (`boot/places.py`).
"""

import asyncio
import json
import logging
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from sandbox_server.core.errors import Failure, InvalidArgument

MAX_CONNECTIONS = 64
"""Connections that are served at once; one more is closed."""
MAX_HEAD = 8192
"""Bytes of a request's head."""
MAX_FIELDS = 16
"""Parameters of a query."""
REQUEST_SECONDS = 5.0
"""Seconds for a request and its answer."""
BACKLOG = 64
_MODE = 0o666
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 503: "Service Unavailable"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SocketRequest:
    """One GET."""

    path: str
    query: Mapping[str, list[str]]
    accepts_text: bool
    """Whether the client asks for plain text."""


@dataclass(frozen=True, slots=True)
class SocketAnswer:
    """The answer's body, as an object or as text."""

    body: Mapping[str, object] | str


type Answer = Callable[[SocketRequest], Awaitable[SocketAnswer | None]]
"""Answers a request; None for a path that is not there. May raise a Failure."""


class TokenSocket:
    """The socket; an asynchronous context manager. `uids` are who may use it."""

    def __init__(self, path: str, uids: Collection[int], answer: Answer) -> None:
        self._path = path
        self._uids = frozenset(uids)
        self._answer = answer
        self._served: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_unix_server(self._serve, sock=_listening(self._path), limit=MAX_HEAD, backlog=BACKLOG)
        except OSError as error:
            _log.warning("the identity's socket %s cannot be made: %s", self._path, error.strerror)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server:
            self._server.close()
            for writer in self._served:
                writer.transport.abort()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._served) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._served.add(writer)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                status, body = await self._answered(reader, writer)
                writer.write(_response(status, body))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client's own affair
        finally:
            self._served.discard(writer)
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, Mapping[str, object] | str]:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if _peer_uid(writer) not in self._uids:  # after the head: an answer to unread bytes is lost
                return 403, _message("this socket is for the agent's user and root")
            answer = await self._answer(_parsed(head))
        except (asyncio.LimitOverrunError, InvalidArgument) as error:
            return 400, _message(error.message if isinstance(error, InvalidArgument) else f"a request has at most {MAX_HEAD} bytes")
        except Failure as failure:
            return failure.status, _message(failure.message)
        return (404, _message("there is nothing at this address")) if answer is None else (200, answer.body)


def _listening(path: str) -> socket.socket:
    """Bind the path, which a stale socket does not keep; its directory is one that nobody in the box can write to."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    fresh = f"{path}.new"
    try:
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        listener.bind(fresh)
        os.chmod(fresh, _MODE)
        os.rename(fresh, path)
    except OSError:
        listener.close()
        raise
    return listener


def _peer_uid(writer: asyncio.StreamWriter) -> int:
    credentials = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", credentials)[1]
    return uid


def _parsed(head: bytes) -> SocketRequest:
    """Parse a request's head. Raises InvalidArgument."""
    try:
        line, *fields = head.decode("ascii").rstrip("\r\n").split("\r\n")
        method, target, version = line.split(" ")
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise InvalidArgument("not a request that this socket understands") from None
    if method != "GET" or version not in ("HTTP/1.0", "HTTP/1.1") or not target.startswith("/"):
        raise InvalidArgument("this socket answers GET over HTTP/1.1")
    accepted = (value for name, _, value in (field.partition(":") for field in fields) if name.strip().lower() == "accept")
    return SocketRequest(parts.path, query, any("text/plain" in value for value in accepted))


def _message(text: str) -> dict[str, object]:
    return {"message": text}


def _response(status: int, body: Mapping[str, object] | str) -> bytes:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode() + b"\n"
    kind = "text/plain" if isinstance(body, str) else "application/json"
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + content
