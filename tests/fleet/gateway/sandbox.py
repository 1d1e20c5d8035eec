"""A sandbox of the tests: it says what reached it, upgrades to an echo, streams, and signs browsers in."""

import asyncio
import json
from dataclasses import dataclass, field

OF_THE_FLEET = ("/readyz", "/v1/sandbox/bind")
"""What the fleet itself asks of a sandbox that starts."""


@dataclass
class EchoSandbox:
    """Answers on loopback. `paths` is what it was asked for, but for probes."""

    address: str = ""
    paths: list[str] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        verb, uri, _ = line.split(" ")
        headers = [(name.lower(), value) for name, _, value in (one.partition(": ") for one in lines if one)]
        if uri not in OF_THE_FLEET:
            self.paths.append(uri)
        given = dict(headers)
        if (length := int(given.get("content-length", 0))) and (body := await reader.readexactly(length)) and uri not in OF_THE_FLEET:
            self.bodies.append(len(body))
        if given.get("transfer-encoding") == "chunked":
            self.bodies.append(await self._chunks(reader))
        if given.get("upgrade") == "websocket":
            return await self._echo(reader, writer)
        if uri == "/dropped":
            return False
        if uri == "/events":
            return await self._stream(writer)
        status, more = self._status(uri)
        body = json.dumps({"verb": verb, "uri": uri, "headers": headers}).encode()
        head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *more]
        writer.write("\r\n".join([*head, "", ""]).encode() + (b"" if verb == "HEAD" else body))
        await writer.drain()
        return True

    async def _chunks(self, reader: asyncio.StreamReader) -> int:
        size = 0
        while length := int(await reader.readline(), 16):
            size += len(await reader.readexactly(length))
            await reader.readline()
        await reader.readline()
        return size

    def _status(self, uri: str) -> tuple[str, list[str]]:
        if "ticket=good" in uri:
            return "302 Found", ["Location: /", "Set-Cookie: sandbox_session=mine; Path=/"]
        if "ticket=" in uri or uri == "/refused":
            return "401 Unauthorized", ["X-Sandbox: is-here"]
        return "200 OK", []

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        return False

    async def _stream(self, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for number in range(3):
            writer.write(f"data: {number}\n\n".encode())
            await writer.drain()
            await self.next_event.wait()
        return False

    next_event: asyncio.Event = field(default_factory=asyncio.Event)
