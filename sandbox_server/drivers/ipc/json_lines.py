"""Lines of JSON between this server and a process of the agent, over a socket that is the process's standard input.

The process is not trusted: a line that is too long, or no JSON object, ends the connection.
"""

import asyncio
import json
import socket
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

MAX_LINE = 64 << 20
"""Limit in bytes of a line."""

type JsonLine = dict[str, Any]


class JsonLines:
    """The server's end of the socket. `theirs` is for the process, and is released once that has its copy."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._ours, self._process_end = socket.socketpair()
        self._ours.setblocking(False)
        self._limit = limit
        self.heard = 0
        """Bytes that were received as lines."""
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @property
    def theirs(self) -> int:
        """The descriptor that becomes the process's standard input."""
        return self._process_end.fileno()

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._ours, limit=self._limit)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def release(self) -> None:
        """Close the process's end here, so that the end of the process closes the connection."""
        self._process_end.close()

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        self.release()
        (self._writer or self._ours).close()

    async def send(self, line: JsonLine) -> None:
        """Send one object; raises ConnectionError once the process has closed the connection."""
        assert self._writer
        self._writer.write(json.dumps(line).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> JsonLine | None:
        """Wait for one object; None once the process has closed the connection or sent something invalid."""
        assert self._reader
        with suppress(ValueError, ConnectionError, RecursionError):  # too long, no JSON, no Unicode, too deep
            line = await self._reader.readline()
            self.heard += len(line)
            received = json.loads(line or b"null")
            return received if isinstance(received, dict) else None
        return None
