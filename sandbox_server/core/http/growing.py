"""An application that gets the rest of its routes while it serves."""

import asyncio
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send


class Growing:
    """Passes requests on; one that no route of the first ones answers waits until all are there."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._next: ASGIApp = self._wait_first
        self._whole = asyncio.Event()

    def complete(self, routes: Sequence[BaseRoute]) -> None:
        """Answer with these, the first ones among them, from now on."""
        self._app.router.routes[:] = routes
        self._next = self._app
        self._whole.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._next(scope, receive, send)

    async def _wait_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and not self._answers(scope):
            await self._whole.wait()
        await self._app(scope, receive, send)

    def _answers(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._app.routes)
