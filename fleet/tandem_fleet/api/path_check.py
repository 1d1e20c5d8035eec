"""Refuses requests whose path or query no store could hold."""

from urllib.parse import unquote_to_bytes

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class PathCheck:
    """Middleware of the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it: PostgreSQL keeps no NUL, and says so where it is too late."""
        if scope["type"] == "http" and ("\0" in scope["path"] or b"\0" in unquote_to_bytes(scope["query_string"])):
            refused = {"error": {"code": "invalid", "message": "a path and a query hold no NUL"}}
            await JSONResponse(refused, 422)(scope, receive, send)
            return
        await self._app(scope, receive, send)
