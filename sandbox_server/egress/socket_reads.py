"""Reading from a socket that asyncio does not own."""

import asyncio
import socket
from contextlib import suppress

_READ = 16 << 10


async def read_exactly(sock: socket.socket, count: int) -> bytes:
    """Read that many bytes, and not one more. Raises EOFError if the connection ends before, and OSError."""
    loop, received = asyncio.get_running_loop(), b""
    while len(received) < count:
        chunk = await loop.sock_recv(sock, count - len(received))
        if not chunk:
            raise EOFError
        received += chunk
    return received


async def read_until(client: socket.socket, until: float) -> bytes | None:
    """Return what comes next, empty at the end; None if nothing has come by `until`, of the loop's clock. Raises OSError.

    Bytes are read outside of the wait: one that is cancelled as they come would lose them.
    """
    loop = asyncio.get_running_loop()
    while True:
        with suppress(BlockingIOError):
            return client.recv(_READ)
        if loop.time() >= until:
            return None
        readable = loop.create_future()
        loop.add_reader(client, _resolve, readable)
        try:
            async with asyncio.timeout_at(until):
                await readable
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(client)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
