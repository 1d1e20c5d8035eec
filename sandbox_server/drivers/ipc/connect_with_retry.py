"""Connects to a daemon that may be starting or restarting."""

import asyncio
import socket
import time

from sandbox_server.timeouts import scaled

_FULL_QUEUE_PAUSE = 0.01
_RETRY_PAUSE = 0.02
RESTART_SECONDS = scaled(5.0)
"""The longest time until the supervisor has restarted a daemon."""


async def connect(sock: socket.socket, path: str, retry_seconds: float) -> None:
    """Connect to the Unix socket at `path`, and retry for `retry_seconds` seconds while nothing listens.

    Raises OSError. Nothing has been sent then, so the caller may safely retry.
    """
    deadline = time.monotonic() + retry_seconds
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:  # its queue is full, and a Unix socket does not signal when there is room again
            await asyncio.sleep(_FULL_QUEUE_PAUSE)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(_RETRY_PAUSE)
