"""Liveness of the small daemons: each gets a ping and has to answer. A hung daemon still accepts connections."""

import asyncio
import socket
import time
from collections.abc import Mapping

from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError
from sandbox_server.timeouts import scaled

PING_SECONDS = min(scaled(2.0), 4.0)
"""`/readyz` waits so long. Whoever asks it gives it five seconds: the image's HEALTHCHECK, probes of Kubernetes."""
FRESH_SECONDS = 1.0
"""Seconds for which an answer is cached."""


class Liveness:
    """Pings the daemons at `sockets`, by name, at most once a second."""

    def __init__(self, sockets: Mapping[str, str]) -> None:
        self._sockets = sockets
        self._found: dict[str, str] = {}
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def states(self) -> dict[str, str]:
        """Return `ready` or an error for each, within `PING_SECONDS`."""
        async with self._asking:
            if time.monotonic() >= self._until:
                found = await asyncio.gather(*map(_state, self._sockets.values()))
                self._found = dict(zip(self._sockets, found, strict=True))
                self._until = time.monotonic() + FRESH_SECONDS
            return self._found


async def _state(path: str) -> str:
    try:
        async with asyncio.timeout(PING_SECONDS):
            return "ready" if await _ping(path) else "not answering"
    except FileNotFoundError:
        return "not started"
    except BlockingIOError:
        return "busy"
    except TimeoutError:
        return f"it did not answer within {PING_SECONDS:g} s"
    except (OSError, MalformedMessageError):
        return "not answering"


async def _ping(path: str) -> bool:
    """Ping one daemon. Return whether its answer is right."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as sock:
        sock.connect(path)
        descriptor_passing.send(sock, {"ping": True})
        answered = asyncio.Event()
        loop.add_reader(sock, answered.set)
        try:
            await answered.wait()
        finally:
            loop.remove_reader(sock)
        message, fds = descriptor_passing.receive(sock)
        descriptor_passing.close_all(fds)
        return bool(message and message.get("pong"))
