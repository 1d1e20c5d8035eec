"""A stand-in for stores of secrets: it speaks their paths and checks their credentials, and is none of them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import h11

type Respond = Callable[[str, str, dict[str, str], bytes], tuple[int, Any]]
"""Gets method, target, headers and body; returns a status, and bytes or what becomes JSON."""


class StoreServer:
    """Answers one request a connection, and keeps what was asked."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self.asked: list[tuple[str, str]] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Serve; returns the address."""
        self._server = await asyncio.start_server(self._attend, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        """Serve no more."""
        if self._server:
            self._server.close()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http, request, body = h11.Connection(h11.SERVER), None, b""
        while not isinstance(event := http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                http.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                return
        assert request
        method, target = request.method.decode(), request.target.decode()
        headers = {name.decode(): value.decode() for name, value in request.headers}
        self.asked.append((method, target))
        status, answer = self._respond(method, target, headers, body)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        fields = [("Content-Length", str(len(content))), ("Location", "/elsewhere"), ("Connection", "close")]
        writer.write(http.send(h11.Response(status_code=status, headers=fields)) or b"")
        writer.write((http.send(h11.Data(data=content)) or b"") + (http.send(h11.EndOfMessage()) or b""))
        await writer.drain()
        writer.close()
