"""Measures each request until its answer begins, and logs it."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tandem_fleet.metrics import REQUESTS

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_log = logging.getLogger(__name__)


class Measuring:
    """Middleware of the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        answered = False

        async def note(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                _write(scope, message["status"], time.perf_counter() - begun)
            await send(message)

        try:
            await self._app(scope, receive, note)
        except Exception:
            if not answered:
                _write(scope, 500, time.perf_counter() - begun)
            raise


def _write(scope: Scope, status: int, seconds: float) -> None:
    """A request by the route's path, never by the one that was sent: labels are as many as there are routes."""
    route = getattr(scope.get("route"), "path", "") or "none"
    method = scope["method"] if scope["method"] in METHODS else "other"
    REQUESTS.labels(method, route, str(status)).observe(seconds)
    fields = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
    if caller := scope.get("state", {}).get("caller"):
        fields |= {"tenant": caller.tenant, "caller": caller.name}
    _log.info("%s %s %s", method, route, status, extra={"fields": fields})
