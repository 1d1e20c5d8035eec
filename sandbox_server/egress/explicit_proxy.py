"""The explicit proxy: clients name their destination by HTTP or SOCKS5, and the policy decides as on a redirected connection.

It asks and does not enforce: a program that connects by itself goes past it, unless the network leaves no other way.
"""

import asyncio
import socket
from contextlib import suppress

from sandbox_server.drivers.egress import proxy_request
from sandbox_server.drivers.egress.policy import AppProtocol
from sandbox_server.drivers.egress.proxy_request import MalformedProxyRequest, MalformedSocksRequest, ProxyRequest
from sandbox_server.egress.egress_flow import EgressFlows
from sandbox_server.egress.refusals import end_with, refuse, reset

REQUEST_SECONDS = 10.0
"""How long a client may take to say where it wants to go."""
_NOT_ALLOWED = 2
"""SOCKS5: connection not allowed by ruleset."""
_UNREACHABLE = 4
"""SOCKS5: host unreachable."""
_READ = 16 << 10


class ExplicitProxy:
    """Serves clients of either protocol on one port."""

    def __init__(self, flows: EgressFlows) -> None:
        self._flows = flows
        self.refuses_at_once = True
        """Whether a tunnel is refused at once where nothing is allowed in it; else what it carries is, as on a redirected connection."""

    async def serve(self, client: socket.socket) -> None:
        """Serve a connection to its end, and close it."""
        received = bytearray()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await _read(client, received)
        except MalformedSocksRequest as error:
            await end_with(client, error.answer)
        except MalformedProxyRequest as error:
            await refuse(client, AppProtocol.HTTP, str(error), "400 Bad Request")
        except (OSError, EOFError, TimeoutError):
            reset(client)
        else:
            await self._attend(client, request, bytes(received))
        finally:
            client.close()

    async def _attend(self, client: socket.socket, request: ProxyRequest, left: bytes) -> None:
        """Relay to the destination. By SOCKS a name that nobody can have is not found, as DNS says of it."""
        socks = request.accepted and request.accepted != proxy_request.CONNECTED
        if socks and f".{request.destination.name}".endswith(".invalid"):  # RFC 6761, section 6.4
            return await end_with(client, proxy_request.socks_reply(_UNREACHABLE))
        if request.accepted and self.refuses_at_once and (refused := self._flows.refuse_asked(client, request.destination)):
            if request.accepted == proxy_request.CONNECTED:
                await refuse(client, AppProtocol.HTTP, str(refused), refused.status)
            else:
                await end_with(client, proxy_request.socks_reply(_NOT_ALLOWED))
            return None
        with suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(client, request.accepted)
            await self._flows.serve_asked(client, request.destination, request.first + left)
        return None


async def _read(client: socket.socket, received: bytearray) -> ProxyRequest:
    """Read a request. What the client has sent after it stays in `received`. Raises MalformedProxyRequest, OSError and EOFError."""
    await _fill(client, received, 1)
    if received[0] == proxy_request.SOCKS_VERSION:
        return await _read_socks(client, received)
    searched = 0
    while (end := received.find(b"\r\n\r\n", max(0, searched - 3))) < 0:
        searched = len(received)
        if searched > proxy_request.MAX_HEAD:
            raise MalformedProxyRequest(f"the request's head exceeds {proxy_request.MAX_HEAD} bytes")
        await _fill(client, received, searched + 1)
    return proxy_request.read_http(_take(received, end + 4))


async def _read_socks(client: socket.socket, received: bytearray) -> ProxyRequest:
    await _fill(client, received, 2)
    methods = received[1]
    await _fill(client, received, 2 + methods)
    proxy_request.check_socks_methods(_take(received, 2 + methods)[2:])
    await asyncio.get_running_loop().sock_sendall(client, proxy_request.SOCKS_NO_AUTHENTICATION)
    await _fill(client, received, 5)
    if received[0] != proxy_request.SOCKS_VERSION:
        raise MalformedSocksRequest("SOCKS5: the version is not 5", 1)
    command, kind = received[1], received[3]
    length = proxy_request.socks_length(kind, received[4])
    await _fill(client, received, 4 + length + 2)
    said = _take(received, 4 + length + 2)
    return proxy_request.read_socks(command, kind, proxy_request.socks_host(kind, said[4:-2]), int.from_bytes(said[-2:]))


async def _fill(client: socket.socket, received: bytearray, count: int) -> None:
    """Read until there are `count` bytes. Raises EOFError."""
    loop = asyncio.get_running_loop()
    while len(received) < count:
        chunk = await loop.sock_recv(client, _READ)
        if not chunk:
            raise EOFError
        received += chunk


def _take(received: bytearray, count: int) -> bytes:
    taken = bytes(received[:count])
    del received[:count]
    return taken
