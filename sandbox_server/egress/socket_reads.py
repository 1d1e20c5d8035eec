"""Reading a number of bytes from a socket that asyncio does not own."""

import asyncio
import socket


async def read_exactly(sock: socket.socket, count: int) -> bytes:
    """Read that many bytes, and not one more. Raises EOFError if the connection ends before, and OSError."""
    loop, received = asyncio.get_running_loop(), b""
    while len(received) < count:
        chunk = await loop.sock_recv(sock, count - len(received))
        if not chunk:
            raise EOFError
        received += chunk
    return received
