"""Serves the MCP process's application, which is imported and made for the first request.

A sandbox whose agent speaks HTTP never needs it. Its imports take 30 MiB and two thirds of a second of processor time,
which the start of everything else would wait for.
"""

import asyncio
import logging
import signal
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from sandbox_server.core import logs
from sandbox_server.core.http.asgi_server import serve_on
from sandbox_server.core.tasks import start_task
from sandbox_server.settings import Settings

_log = logging.getLogger(__name__)


class OnDemand:
    """An ASGI application. `make` makes the one that answers, in a thread, when the first request comes."""

    def __init__(self, make: Callable[[], Starlette]) -> None:
        self._make = make
        self._made: asyncio.Future[Starlette] | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, once the application's lifespan has begun. Raises what kept it from being made."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if self._made is None:
            self._made = asyncio.get_running_loop().create_future()
            self._running = start_task(self._run(self._made))
        app = await asyncio.shield(self._made)
        await app(scope, receive, send)

    async def _run(self, made: "asyncio.Future[Starlette]") -> None:
        """Hold the application's lifespan open; end the process where that fails, so that it starts anew."""
        try:
            app = await asyncio.to_thread(self._make)
            async with app.router.lifespan_context(app):
                made.set_result(app)
                await self._stopped.wait()
        except Exception as error:  # noqa: BLE001 - the top of a task: whatever fails is logged, and the process ends
            _log.exception("the MCP process cannot serve")
            if not made.done():
                made.set_exception(error)
            signal.raise_signal(signal.SIGTERM)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._stopped.set()
        if self._running:
            await self._running
        await send({"type": "lifespan.shutdown.complete"})


def serve(settings: Settings, version: str) -> None:
    """Serve on the MCP socket until SIGTERM."""

    def make() -> Starlette:
        from sandbox_server.mcp import app  # heavy: see above

        return app.create(settings, version)

    logs.configure(settings.logs.level)
    serve_on(settings.paths.socket("mcp"), OnDemand(make))
