"""What the server fetches for the agent, held to the policy as a connection of the box is, names included.

A client of the Unix socket writes a line of JSON: `host`, `port` and `internal`, the networks that are not public and
that the host may be in, or null for those that the policy allows. The answer is a line, too: `{}`, after which the
client speaks to that host as if it had connected to it, or `reason` and `rule` of the refusal, whatever it would say.
"""

import asyncio
import json
import os
import socket
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.egress.egress_flow import EgressFlows

MAX_PLACE = 16 << 10
"""Limit in bytes of a line."""
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
            refused = self._flows.refuse_asked(client, destination) or await self._flows.refuse_resolved(client, destination)
            said = {"reason": str(refused), "rule": refused.rule} if refused else {}
            await asyncio.get_running_loop().sock_sendall(client, f"{json.dumps(said)}\n".encode())
        except (OSError, ValueError, TypeError, KeyError, RecursionError, TimeoutError):
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
    """Read a line, whose host is a name or an address, an IPv6 one in brackets; raises ValueError, TypeError and KeyError."""
    place = json.loads(text)
    host, port, internal = str(place["host"]), place["port"], place["internal"]
    if not isinstance(port, int) or not 0 < port < 65536:
        raise ValueError(f"{port!r} is no port")
    found = Destination.of(host, port)
    return found if internal is None else replace(found, internal=tuple(ip_network(each) for each in internal))


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
