"""The VNC server of the desktop, reached by its Unix socket.

Only the users desktop and control can enter its directory.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sandbox_server.core.errors import Unavailable

RETRY_AFTER = 1.0
PIECE_BYTES = 1 << 16

type Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class VncServer:
    """The server at `path`."""

    def __init__(self, path: str) -> None:
        self._path = path

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Stream]:
        """Open a connection, which is closed at the end. Raises Unavailable while no server listens."""
        try:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=PIECE_BYTES)
        except OSError:
            raise Unavailable("the VNC server is not running", retry_after=RETRY_AFTER) from None
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
