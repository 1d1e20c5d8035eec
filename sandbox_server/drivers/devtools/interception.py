"""Request interception: extra headers, mocked responses and blocked requests.

The browser pauses each matching request (domain Fetch) until it gets a decision. When the connection ends, every
request continues unchanged.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.devtools.connection import Object
from sandbox_server.drivers.devtools.globs import Glob

MAX_ROUTES = 100
MAX_ORIGINS = 100
MAX_BODIES = 32 << 20
"""Limit in bytes of the bodies of all mocked responses together."""
_PREFLIGHT_SECONDS = "600"


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """A mocked response."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class RequestRoute:
    """A rule for requests to matching URLs: mock the response, block the request, or, without both, let it pass."""

    glob: Glob
    answer: RouteAnswer | None = None
    abort: bool = False


@dataclass(slots=True)
class Interception:
    """The rules in force."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """For every request."""
    routes: dict[str, RequestRoute] = field(default_factory=dict)
    """By pattern. If several match, the latest wins."""
    origins: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Headers for the requests to one origin."""

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self.headers or self.routes or self.origins)

    def add(self, route: RequestRoute) -> None:
        """Add a route, or replace the one of the same pattern.

        Raises ResourceExhausted at the limit of routes or of the bodies' size.
        """
        self.routes.pop(route.glob.text, None)
        if len(self.routes) >= MAX_ROUTES:
            raise ResourceExhausted(f"at most {MAX_ROUTES} routes are allowed", limit=MAX_ROUTES)
        if sum(len(each.answer.body) for each in (*self.routes.values(), route) if each.answer) > MAX_BODIES:
            raise ResourceExhausted(f"the bodies of all routes may have at most {MAX_BODIES} bytes together", limit=MAX_BODIES)
        self.routes[route.glob.text] = route

    def scope(self, origin: str, headers: Mapping[str, str]) -> None:
        """Set the headers for an origin; empty headers remove it. Raises ResourceExhausted at the limit of origins."""
        self.origins.pop(origin, None)
        if headers and len(self.origins) >= MAX_ORIGINS:
            raise ResourceExhausted(f"headers are allowed for at most {MAX_ORIGINS} origins", limit=MAX_ORIGINS)
        if headers:
            self.origins[origin] = headers

    def commands(self) -> list[tuple[str, Object]]:
        """Return the commands that apply the rules to a session."""
        patterns = sorted({route.glob.wide for route in self.routes.values()} | {f"{origin}/*" for origin in self.origins})
        asked = [{"urlPattern": pattern, "requestStage": "Request"} for pattern in patterns]
        return [
            ("Network.setExtraHTTPHeaders", {"headers": dict(self.headers)}),
            # The page's memory cache bypasses interception.
            ("Network.setCacheDisabled", {"cacheDisabled": bool(self.routes)}),
            ("Fetch.enable", {"patterns": asked}) if asked else ("Fetch.disable", {}),
        ]

    def decide(self, paused: Object) -> tuple[str, Object]:
        """Return the command that answers `Fetch.requestPaused`."""
        number, request = paused["requestId"], paused["request"]
        route = next((route for route in reversed(self.routes.values()) if route.glob.matches(request["url"])), None)
        if route and route.abort:
            return "Fetch.failRequest", {"requestId": number, "errorReason": "Failed"}
        if route and route.answer:
            return "Fetch.fulfillRequest", {"requestId": number, **_mocked_response(route.answer, request)}
        return "Fetch.continueRequest", {"requestId": number, **self._headers_for_origin(request)}

    def _headers_for_origin(self, request: Object) -> Object:
        added = self.origins.get(origin_of(request["url"]))
        if not added:
            return {}
        replaced = {name.lower() for name in added}
        headers = {name: value for name, value in request["headers"].items() if name.lower() not in replaced} | dict(added)
        return {"headers": _header_entries(headers)}


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, without a default port; empty parts if it is not a URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    implied = {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, implied) else "") if host else ""


def _mocked_response(answer: RouteAnswer, request: Object) -> Object:
    asked = {name.lower(): value for name, value in request["headers"].items()}
    if request["method"] == "OPTIONS" and "access-control-request-method" in asked:
        return {"responseCode": 204, "responseHeaders": _header_entries(_preflight(asked))}
    headers = {"Content-Type": answer.content_type, "Content-Length": str(len(answer.body))} | _cors_headers(asked, request["url"])
    given = {name.lower() for name in answer.headers}
    headers = {name: value for name, value in headers.items() if name.lower() not in given} | dict(answer.headers)
    return {"responseCode": answer.status, "responseHeaders": _header_entries(headers), "body": base64.b64encode(answer.body).decode()}


def _cors_headers(asked: Mapping[str, str], url: str) -> dict[str, str]:
    """Return CORS headers that let a page of another origin read the mocked response."""
    origin = asked.get("origin")
    if origin is None or origin == origin_of(url):
        return {}
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}


def _preflight(asked: Mapping[str, str]) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": asked.get("origin", "*"),
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Allow-Methods": asked["access-control-request-method"],
        "Access-Control-Allow-Headers": asked.get("access-control-request-headers", ""),
        "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
    }


def _header_entries(headers: Mapping[str, str]) -> list[Object]:
    return [{"name": name, "value": value} for name, value in headers.items()]
