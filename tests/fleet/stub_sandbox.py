"""A small sandbox of the tests: it answers what the wall asks of one, and does as its script says. It knows no token."""

import asyncio
import json
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

END = b"\r\n\r\n"
STREAM = "text/event-stream"


def jpeg(width: int = 320, height: int = 256, mark: bytes = b"") -> bytes:
    """What begins as a JPEG of these sides does."""
    frame = struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 2 + len(mark)) + mark + b"\xff\xc0" + frame + b"\xff\xd9"


def handoff(number: str = "h-1", **fields: Any) -> dict[str, Any]:
    """A request to a person, as a sandbox tells it."""
    now = time.time()
    told = {"id": number, "kind": "confirm", "reason": "Place the order?", "instructions": "", "choices": [], "fields": []}
    return told | {"asked_by": "agent", "created_at": now, "deadline_at": now + 3600, "status": "open", "approval": None} | fields


def control(state: str = "agent", holder: str | None = None, private: str | None = None) -> dict[str, Any]:
    """Who drives, as a sandbox tells it."""
    return {"kind": "state", "by": "", "note": "", "control": {"state": state, "holder": holder, "private": private}}


@dataclass
class Request:
    """A request that came."""

    verb: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class StubSandbox:
    """What it answers can be changed at any time; who follows is told with `tell`."""

    handoffs: Any = field(default_factory=list)
    control: Any = field(default_factory=control)
    picture: bytes = field(default_factory=jpeg)
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """Status and body, by the beginning of `VERB /path`."""
    hangs: bool = False
    requests: list[Request] = field(default_factory=list)
    captures: int = 0
    address: str = ""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """Tell who follows."""
        self._changed.set()
        self._changed = asyncio.Event()

    def came(self, begin: str) -> list[Request]:
        """The requests that begin so."""
        return [one for one in self.requests if f"{one.verb} {one.path}".startswith(begin)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = (await reader.readuntil(END)).decode().strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        verb, path, _ = first.split()
        request = Request(verb, path, headers, json.loads(body) if body else None)
        self.requests.append(request)
        if self.hangs:
            await asyncio.Event().wait()
        about = f"{request.verb} {request.path}"
        status, content = next((found for begin, found in self.answers.items() if about.startswith(begin)), (0, None))
        if status:
            _write(writer, status, content if isinstance(content, bytes) else json.dumps(content).encode(), "application/json")
        elif request.path.startswith("/v1/handoffs/events"):
            return await self._stream(writer, "handoffs", lambda: self.handoffs)
        elif request.path.startswith("/v1/control/events"):
            return await self._stream(writer, "control", lambda: self.control)
        elif request.path.startswith("/v1/screen/picture"):
            self._show(writer, headers.get("if-none-match", ""))
        elif request.path == "/tickets":
            _write(writer, 200, b'{"ticket": "the-ticket", "expires_in": 30}', "application/json")
        else:
            _write(writer, 200, b"{}", "application/json")
        await writer.drain()
        return True

    def _show(self, writer: asyncio.StreamWriter, known: str) -> None:
        tag = f'"{hash(self.picture):x}"'
        if known == tag:
            _write(writer, 304, b"", "image/jpeg")
            return
        self.captures += 1
        _write(writer, 200, self.picture, "image/jpeg", f"ETag: {tag}\r\n")

    async def _stream(self, writer: asyncio.StreamWriter, name: str, value: Callable[[], Any]) -> bool:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {STREAM}\r\nConnection: close\r\n\r\n".encode())
        while True:
            changed, told = self._changed, value()
            data = told if isinstance(told, bytes) else f"event: {name}\ndata: {json.dumps(told)}\n\n".encode()
            writer.write(data)
            await writer.drain()
            await changed.wait()


def _write(writer: asyncio.StreamWriter, status: int, content: bytes, kind: str, more: str = "") -> None:
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n{more}\r\n"
    writer.write(head.encode() + content)


@asynccontextmanager
async def serving(stub: StubSandbox) -> AsyncIterator[StubSandbox]:
    """Serve it on a port of this machine."""
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        connections.add(task)
        try:
            await stub.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            connections.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    stub.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield stub
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
