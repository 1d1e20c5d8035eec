"""The page for people: its files, and the link that signs a browser in. The files hold nothing that is anybody's."""

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from tandem_fleet.api import browser_sessions
from tandem_fleet.errors import NotFoundError, UnauthorizedError
from tandem_fleet.fleet import Fleet

WEB = Path(__file__).parent.parent / "web"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
FILES = {file.name: file for file in WEB.iterdir() if file.suffix in TYPES}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
}
NOT_SIGNED_IN = "not-signed-in"
"""The fragment by which the page says that a link is used up."""


def router(fleet: Fleet) -> APIRouter:
    """The routes. They are no operations, and are not in the API's description."""
    routes = APIRouter()

    @routes.get("/", include_in_schema=False)
    async def wall(request: Request, ticket: str = "") -> Response:
        """The page; with a ticket it signs the browser in, and leads to itself without it."""
        if not ticket:
            return _file("index.html")
        try:
            secret, _ = await fleet.people.begin_session(ticket)
        except UnauthorizedError:
            return RedirectResponse(f"/#{NOT_SIGNED_IN}", 303, HEADERS)
        response = RedirectResponse("/", 303, HEADERS)
        browser_sessions.keep(request, response, secret)
        return response

    @routes.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        """A file of the page."""
        if name not in FILES:
            raise NotFoundError("there is no such file")
        return _file(name)

    return routes


def _file(name: str) -> Response:
    return FileResponse(FILES[name], headers=HEADERS, media_type=TYPES[FILES[name].suffix])
