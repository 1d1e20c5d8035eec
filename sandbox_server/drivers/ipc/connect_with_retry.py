"""Connecting to a daemon of ours that may be about to start, or to come back."""

import asyncio
import socket
import time

_FULL_QUEUE_PAUSE = 0.01
_RETRY_PAUSE = 0.02
RESTART_SECONDS = 5.0
"""How long the supervisor takes, at most, until a daemon that ended serves again."""


async def connect(sock: socket.socket, path: str, patience: float) -> None:
    """Connect to the Unix socket at `path`; for `patience` seconds it is borne that nobody listens there.

    Raises OSError. Nothing was sent yet, so that a caller that waits here has had nothing done.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:  # its queue is full, and a Unix socket does not say when there is room again
            await asyncio.sleep(_FULL_QUEUE_PAUSE)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(_RETRY_PAUSE)
