"""The browser's requests: extra headers, mocked responses, and the log of all requests."""

from collections.abc import Callable
from urllib.parse import urlsplit

from pydantic import Field

from sandbox_server.core import Model, Reply, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import NotFound
from sandbox_server.drivers.devtools import har
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.devtools.headers import problem
from sandbox_server.drivers.devtools.interception import RequestRoute, RouteAnswer, origin_of
from sandbox_server.drivers.devtools.traffic import Exchange
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.agent_files import save_json

MAX_BODY = 10 << 20
BEGUN = "Requests are logged from now on; those before are not known."

type Headers = dict[str, str]


class HeadersRequest(Model):
    headers: Headers
    """Header fields by name, for every request from now on. They replace earlier ones; an empty object removes them."""


class ScopedHeadersRequest(Model):
    origin: str
    """Scheme, host and port, such as `https://example.com`."""
    headers: Headers
    """Header fields for the requests to this origin. They replace earlier ones for it; an empty object removes them."""


class RouteResponse(Model):
    status: int = 200
    """From 200 to 599."""
    headers: Headers = Field(default_factory=dict)
    body: str = ""
    """Sent as UTF-8; at most 10 MiB."""
    content_type: str = "text/plain"


class RouteRequest(Model):
    url_pattern: str
    """URL pattern: `*` matches anything but a slash, `**` anything, `{a,b}` one of several. The latest matching route wins."""
    response: RouteResponse | None = None
    """The mocked response. Null, without `abort`: the network's own."""
    abort: bool = False
    """Whether the requests fail."""


class RouteRemoval(Model):
    url_pattern: str
    """The pattern of a route."""


class RequestsQuery(Model):
    filter: str | None = None
    """Part of the URL; with `*` in it, a pattern as for routes."""
    limit: int = 100
    """Limit; the latest requests are returned."""


class LoggedRequest(Model):
    url: str
    method: str
    resource_type: str
    """document, stylesheet, image, script, xhr, fetch, websocket or another of the browser's types."""
    status: int | None
    """Null while there is no response, or if there was none."""
    status_text: str
    mime_type: str
    from_cache: bool
    failure: str | None
    """Why there was no response."""
    started: str
    """Start time in ISO 8601."""
    duration: float | None
    """Seconds; null while it is open."""
    size: int
    """Bytes received over the network."""
    page: str
    """Target id of the requesting page."""


class ExportHarRequest(Model):
    save_path: str
    """Path of the archive in the agent's files. An existing file is replaced."""


class Exported(Model):
    save_path: str
    entries: int
    """How many requests the file has."""
    size: int
    """Bytes of the file."""


class Network:
    """Shapes and logs the browser's requests."""

    tag = "browser-network"

    def __init__(self, devtools: Devtools, files: Files, version: str) -> None:
        self._devtools = devtools
        self._files = files
        self._version = version

    @operation("POST /v1/browser/network/headers", scope="browser", operation_id="set_headers", acts="cdp")
    async def set_headers(self, request: HeadersRequest) -> None:
        """Add header fields to every request of the browser."""
        _require(problem(request.headers, request=True), "headers")
        self._devtools.rules.headers = dict(request.headers)
        await self._devtools.apply_rules()

    @operation("POST /v1/browser/network/scoped_headers", scope="browser", operation_id="set_scoped_headers", acts="cdp")
    async def set_scoped_headers(self, request: ScopedHeadersRequest) -> None:
        """Add header fields to the requests to one origin only."""
        _require(problem(request.headers, request=True), "headers")
        self._devtools.rules.scope(_origin(request.origin), dict(request.headers))
        await self._devtools.apply_rules()

    @operation("POST /v1/browser/network/route", scope="browser", operation_id="add_route", acts="cdp")
    async def add_route(self, request: RouteRequest) -> None:
        """Mock the responses to matching requests, or abort the requests. A route with the same pattern is replaced."""
        self._devtools.rules.add(RequestRoute(_glob(request.url_pattern), _answer(request.response), request.abort))
        await self._devtools.apply_rules()

    @operation("DELETE /v1/browser/network/route", scope="browser", operation_id="remove_route", takes_body=True, acts="cdp")
    async def remove_route(self, request: RouteRemoval) -> None:
        """Remove a route."""
        if self._devtools.rules.routes.pop(request.url_pattern, None) is None:
            raise NotFound(f"there is no route for {request.url_pattern[:200]!r}")
        await self._devtools.apply_rules()

    @operation("GET /v1/browser/network/requests", scope="browser", operation_id="get_requests")
    async def get_requests(self, request: RequestsQuery) -> Reply[list[LoggedRequest]]:
        """List the latest requests of all tabs, oldest first."""
        if request.limit < 0:
            raise InvalidFields([{"loc": ("limit",), "msg": "must not be negative", "type": "greater_than_equal"}])
        await self._devtools.connection()
        chosen = _chosen(request.filter)
        found = [exchange for exchange in self._devtools.traffic if chosen(exchange.url)]
        listed = [_logged(exchange) for exchange in found[max(0, len(found) - request.limit) :]]
        return Reply(listed, hint=None if listed or request.filter else BEGUN)

    @operation("POST /v1/browser/network/export_har", scope="browser", operation_id="export_har")
    async def export_har(self, request: ExportHarRequest) -> Exported:
        """Write the log of requests into a file, as an HTTP Archive 1.2.

        It has all header fields and cookies, posted data up to 64 KiB each, and text responses up to 256 KiB each, the
        latest 16 MiB of them.
        """
        browser = (await self._devtools.command("Browser.getVersion"))["product"]
        document = har.archive(list(self._devtools.traffic), version=self._version, browser=browser)
        status = await save_json(self._files, request.save_path, document)
        return Exported(save_path=request.save_path, entries=len(document["log"]["entries"]), size=status.size)


def _logged(exchange: Exchange) -> LoggedRequest:
    seconds = exchange.seconds
    return LoggedRequest(
        url=exchange.url,
        method=exchange.method,
        resource_type=exchange.kind,
        status=exchange.status,
        status_text=exchange.status_text,
        mime_type=exchange.mime_type,
        from_cache=exchange.from_cache,
        failure=exchange.failure,
        started=har.moment(exchange.started),
        duration=None if seconds is None else round(seconds, 4),
        size=exchange.received,
        page=exchange.page,
    )


def _chosen(wanted: str | None) -> Callable[[str], bool]:
    if not wanted:
        return lambda _: True
    return _glob(wanted, "filter").matches if "*" in wanted else lambda url: wanted in url


def _glob(text: str, name: str = "url_pattern") -> Glob:
    try:
        return Glob(text)
    except ValueError as error:
        raise InvalidFields([{"loc": (name,), "msg": str(error), "type": "pattern"}]) from None


def _answer(response: RouteResponse | None) -> RouteAnswer | None:
    if response is None:
        return None
    _require(None if 200 <= response.status <= 599 else "must be from 200 to 599", "response", "status")
    _require(problem(response.headers, request=False), "response", "headers")
    _require(problem({"Content-Type": response.content_type}, request=False), "response", "content_type")
    body = response.body.encode("utf-8", "replace")
    _require(None if len(body) <= MAX_BODY else f"may have {MAX_BODY} bytes", "response", "body")
    return RouteAnswer(response.status, dict(response.headers), body, response.content_type)


def _origin(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    origin = origin_of(text)
    bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
    _require(
        None if origin and bare and parts.scheme in ("http", "https") else "must be scheme, host and port, as in https://example.com",
        "origin",
    )
    return origin


def _require(wrong: str | None, *place: str) -> None:
    if wrong:
        raise InvalidFields([{"loc": place, "msg": wrong, "type": "value_error"}])
