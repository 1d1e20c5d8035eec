"""Where applications are served: on sockets of this machine, and on ports."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn

END_SECONDS = 10


class _Server(uvicorn.Server):
    """A server that leaves signals to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def answering(served: Sequence[tuple[Any, socket.socket]]) -> AsyncIterator[None]:
    """Serve each application on its listener until the block ends."""
    servers = [(_Server(_config(app)), listener) for app, listener in served]
    tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in servers]
    try:
        yield
    finally:
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)


def _config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=END_SECONDS)


def bind(path: Path) -> socket.socket:
    """A socket that only this user may connect to. One that a killed process left is replaced: its caller holds the fleet's lock."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(128)
    return listener


def listen(host: str, port: int) -> socket.socket:
    """A port of this machine; 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)
