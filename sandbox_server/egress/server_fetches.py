"""What the server fetches for the agent, held to the policy as a connection of the box is.

A client of the Unix socket writes `host:port` and a line feed. The answer is a line, too: `ok`, after which the client
speaks to that host as if it had connected to it, or why the policy refuses it, whatever it would say.
"""

import asyncio
import os
import socket
from contextlib import suppress

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.egress.egress_flow import EgressFlows

MAX_PLACE = 300
"""Limit in bytes of a host and a port."""
PLACE_SECONDS = 5.0
MAX_FETCHES = 64
_BACKLOG = 64


class ServerFetches:
    """Serves connections of the server by flows of the box's."""

    def __init__(self, flows: EgressFlows) -> None:
        self._flows = flows

    async def serve(self, client: socket.socket) -> None:
        """Serve a connection to its end, and close it."""
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                destination = read_place(await _line(client))
                refused = self._flows.refuse_asked(client, destination)
                await asyncio.get_running_loop().sock_sendall(client, f"{refused or 'ok'}\n".encode())
        except (OSError, ValueError, TimeoutError):
            client.close()
            return
        except asyncio.CancelledError:
            client.close()
            raise
        if refused:
            client.close()
        else:
            await self._flows.serve_asked(client, destination)


def listen(path: str) -> socket.socket:
    """Listen on a path in a directory that says who may connect."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(FileNotFoundError):
        os.unlink(path)
    old = os.umask(0)
    try:
        sock.bind(path)
    finally:
        os.umask(old)
    sock.listen(_BACKLOG)
    return sock


def read_place(text: str) -> Destination:
    """Read `host:port`, the host a name or an address, an IPv6 one in brackets; raises ValueError."""
    host, colon, digits = text.rpartition(":")
    port = int(digits) if colon and digits.isascii() and digits.isdigit() else 0
    if not 0 < port < 65536:
        raise ValueError(f"{text!r} is no host with a port")
    return Destination.of(host, port)


async def _line(client: socket.socket) -> str:
    """Read a line, and not a byte after it."""
    loop, received = asyncio.get_running_loop(), b""
    while not received.endswith(b"\n"):
        if len(received) > MAX_PLACE:
            raise ValueError("the place is too long")
        byte = await loop.sock_recv(client, 1)
        if not byte:
            raise ValueError("it hung up")
        received += byte
    return received[:-1].decode("ascii")
