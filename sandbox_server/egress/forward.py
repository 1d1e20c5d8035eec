"""A port of the namespace that leads to one address outside, whatever the policy says: the gateway for programs in the box."""

import asyncio
import socket
from contextlib import suppress

from sandbox_server.egress.pipe_pool import PipePool
from sandbox_server.egress.spliced_flow import SplicedFlow

CONNECT_SECONDS = 5.0


class Forward:
    """Relays connections to `host` and `port`."""

    def __init__(self, host: str, port: int) -> None:
        self._place = (host, port)
        self._pipes = PipePool()

    async def serve(self, client: socket.socket) -> None:
        """Relay a connection to its end, and close it. Without a server it is closed."""
        with client, socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as server, suppress(OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.get_running_loop().sock_connect(server, self._place)
            flow = SplicedFlow(self._pipes, client, server)
            flow.start()
            try:
                await flow.ended
            finally:
                flow.cut("")
