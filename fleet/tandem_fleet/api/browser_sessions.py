"""Signed-in browsers: the cookie of a session, and requests of other sites that a browser sends with it."""

from urllib.parse import urlsplit

from fastapi import Request, Response

from tandem_fleet.api.authorization import Caller, Scope
from tandem_fleet.errors import ForbiddenError, UnauthorizedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.people import SESSION

COOKIE = "tandem_session"
LIFETIME = int(SESSION.total_seconds())
SCOPES = frozenset({Scope.READ, Scope.PEOPLE, Scope.USE})
"""What a signed-in browser may do at most."""
PER_MINUTE = 30_000
"""Calls of one session: a page with 200 tiles in sight asks for as many pictures a second."""
_READING = ("GET", "HEAD")


class BrowserSessions:
    """Knows callers by the cookie of their session."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def caller(self, request: Request) -> Caller | None:
        """See `Browsers.caller`. Who sends a key is known by that, whatever the cookie is."""
        secret = kept(request)
        if secret is None or "authorization" in request.headers:
            return None
        if not is_own(request):
            raise ForbiddenError("this request came from another site's page in your browser")
        session = await self._fleet.people.session(secret)
        if session is None:
            raise UnauthorizedError("you are not signed in: sign in at the page, or open the link that tandem open prints")
        return Caller(session.tenant, session.person, SCOPES & session.scopes, PER_MINUTE, session.number, session.account)


def is_own(request: Request) -> bool:
    """Whether a browser says that one of our own pages sends the request, or for a reading one that nobody's does.

    Pages of the same host on another port count as the same site for the cookie; they are not our own.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    reading = request.method in _READING
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        return False
    if site is not None:
        return site == "same-origin" or (site == "none" and reading)
    return origin is not None or reading


def kept(request: Request, cookie: str = COOKIE) -> str | None:
    """The secret that a browser keeps."""
    return request.cookies.get(_name(request, cookie))


def keep(request: Request, response: Response, secret: str, cookie: str = COOKIE, seconds: int = LIFETIME) -> None:
    """Have the browser keep a session's secret, or another one; an empty one has it forget it."""
    response.set_cookie(
        _name(request, cookie),
        secret,
        max_age=seconds if secret else 0,
        path="/",
        secure=_is_encrypted(request),
        httponly=True,
        samesite="lax",
    )


def _is_encrypted(request: Request) -> bool:
    """Whether browsers reach the service by TLS: also where a proxy that is not believed ends it."""
    address: str = request.app.state.address
    return request.url.scheme == "https" or address.startswith("https://")


def _name(request: Request, cookie: str) -> str:
    """Behind TLS a name that no other host below the same domain can set."""
    return f"__Host-{cookie}" if _is_encrypted(request) else cookie
