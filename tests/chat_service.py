"""A stand-in of a chat service for tests: HTTP and a WebSocket on one port, which notes what its documentation does not allow."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.websockets import WebSocket

from tests.patience import PATIENCE_SECONDS, until


class ChatService:
    """What was called, what was wrong with it, and the open connections."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.wrong: list[str] = []
        self.sockets: list[WebSocket] = []
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def routes(self) -> list[BaseRoute]:
        """Its addresses."""
        raise NotImplementedError

    @property
    def told(self) -> list[dict[str, Any]]:
        """The messages that were posted."""
        raise NotImplementedError

    def check(self, true: object, what: str) -> None:
        """Note what the documentation does not allow."""
        if not true:
            self.wrong.append(what)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve on a free port of every address while the context is open."""
        config = uvicorn.Config(Starlette(routes=self.routes()), "0.0.0.0", 0, log_level="error", ws="websockets-sansio", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=self._run, args=(server,), daemon=True)
        thread.start()
        until(lambda: server.started)
        self.port = server.servers[0].sockets[0].getsockname()[1]
        yield
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE_SECONDS)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message on the newest connection."""
        until(lambda: self.sockets)
        self._do(self.sockets[-1].send_json(message))

    def close(self, code: int) -> None:
        """Close the newest connection."""
        until(lambda: self.sockets)
        self._do(self.sockets.pop().close(code))

    def _do(self, work: Any) -> None:
        assert self._loop
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    def _run(self, server: uvicorn.Server) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await server.serve()

        asyncio.run(serve())
