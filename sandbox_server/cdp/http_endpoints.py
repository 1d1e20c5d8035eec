"""Chromium's own HTTP endpoints under `/json` (content/browser/devtools/devtools_http_handler.cc)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from sandbox_server.cdp.browser_connection import BrowserLink, CommandRefused
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.lanes import BrowserLanes, lane_of
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.websockets import caller_of
from sandbox_server.core.errors import Failure, NotFound
from sandbox_server.core.http.response_encoding import failure_response
from sandbox_server.drivers.browser.lane_names import FIELD

BROWSER_ID = "tandem"
"""The browser's id in URLs. It is constant, so that the URL outlives a restart of the browser."""
_FRONTEND = "https://chrome-devtools-frontend.appspot.com/serve_rev/{revision}/inspector.html?{scheme}={target}"

type Endpoint = Callable[[Request], Awaitable[Response]]


def answered(endpoint: Endpoint) -> Endpoint:
    """Wrap an endpoint: failures become error envelopes, and callers that did not come through the gateway are refused."""

    async def answer(request: Request) -> Response:
        try:
            caller_of(request)
            return await endpoint(request)
        except Failure as failure:
            return failure_response(failure)

    return answer


class JsonEndpoints:
    """The endpoints under `/json`. A request that names a lane is about that lane alone."""

    def __init__(self, browser: BrowserSupervisor, protocol: str, lanes: BrowserLanes) -> None:
        self._browser = browser
        self._lanes = lanes
        self._protocol = protocol
        self._described = Path(protocol).is_file()

    async def version(self, request: Request) -> Response:
        """The browser's version and its WebSocket URL."""
        link, _ = await self._at(request)
        found = await self._version(link)
        return JSONResponse(
            {
                "Browser": found["product"],
                "File-Path-Style": "posix",
                "Protocol-Version": found["protocolVersion"],
                "User-Agent": found["userAgent"],
                "V8-Version": found["jsVersion"],
                "WebKit-Version": f"537.36 ({found['revision']})",
                "webSocketDebuggerUrl": socket_url(request, f"browser/{BROWSER_ID}"),
            }
        )

    async def targets(self, request: Request) -> Response:
        """All targets with a WebSocket URL: tabs, workers, and frames of other sites."""
        self._browser.check_seen(caller_of(request))
        link, lane = await self._link(request)
        version, found = await asyncio.gather(self._version(link), link.command("Target.getTargets"))
        tabs_first = sorted(link.hidden_targets.without(found, lane)["targetInfos"], key=lambda info: str(info["type"]) != "page")
        return JSONResponse([described(info, request, version["revision"]) for info in tabs_first])

    async def protocol(self, _: Request) -> Response:
        """The protocol's description, as this Chromium reports it."""
        if not self._described:
            raise NotFound("this image has no protocol description")
        return FileResponse(self._protocol, media_type="application/json")

    async def new(self, request: Request) -> Response:
        """Open a tab. The whole query string is its URL, so that a lane is named in the header."""
        if request.method != "PUT":
            return PlainTextResponse("Using unsafe HTTP verb GET to invoke /json/new. This action supports only PUT verb.", 405)
        self._check_control(request)
        url = unquote(request.url.query) or "about:blank"
        link, lane = await self._link(request)
        place: dict[str, Any] = {"browserContextId": lane} if lane else {}
        created = await link.command("Target.createTarget", url=url, **place)
        version, found = await asyncio.gather(self._version(link), link.command("Target.getTargetInfo", targetId=created["targetId"]))
        return JSONResponse(described(found["targetInfo"], request, version["revision"]))

    async def activate(self, request: Request) -> Response:
        """Bring a tab to the front."""
        return await self._act(request, "Target.activateTarget", "Target activated")

    async def close(self, request: Request) -> Response:
        """Close a tab."""
        return await self._act(request, "Target.closeTarget", "Target is closing")

    async def _act(self, request: Request, method: str, done: str) -> Response:
        self._check_control(request)
        page = request.path_params["id"]
        link, lane = await self._link(request)
        gone = PlainTextResponse(f"No such target id: {page}", 404)
        if link.hidden_targets.knows(page, lane):
            return gone
        try:
            await link.command(method, targetId=page)
        except CommandRefused:
            return gone
        return PlainTextResponse(done)

    async def _link(self, request: Request) -> tuple[BrowserLink, str | None]:
        """The browser, on a profile that the caller may use, which may have changed while it started; and the request's lane."""
        found = await self._at(request)
        self._browser.check_profile(caller_of(request))
        return found

    async def _at(self, request: Request) -> tuple[BrowserLink, str | None]:
        name = _lane(request)
        return (await self._browser.link(), None) if name is None else await self._lanes.enter(name)

    def _check_control(self, request: Request) -> None:
        self._browser.check_profile(caller_of(request))
        if not self._browser.admits(caller_of(request)):
            raise self._browser.holding.refusal()

    async def _version(self, link: BrowserLink) -> Object:
        return await link.command("Browser.getVersion")


def _lane(request: Request) -> str | None:
    """Return the lane that a request names; the query of `/json/new` is a URL, and names none."""
    if request.url.path.endswith("/json/new"):
        return lane_of(HTTPConnection({**request.scope, "query_string": b""}), caller_of(request))
    return lane_of(request, caller_of(request))


def described(info: Object, request: Request, revision: str) -> dict[str, Any]:
    """Return a target in the form of `/json/list`."""
    url = socket_url(request, f"page/{info['targetId']}")
    scheme, _, target = url.partition("://")
    described: dict[str, Any] = {
        "description": "",
        "devtoolsFrontendUrl": _FRONTEND.format(revision=revision, scheme=scheme, target=target),
        "id": info["targetId"],
        "title": info["title"],
        "type": info["type"],
        "url": info["url"],
        "webSocketDebuggerUrl": url,
    }
    if parent := info.get("openerId") or info.get("parentFrameId"):
        described["parentId"] = parent
    return described


def socket_url(request: Request, target: str) -> str:
    """Return the WebSocket URL of a target, with the host, scheme, prefix and lane of the caller's request."""
    headers = request.headers
    host = headers.get("x-forwarded-host") or headers.get("host", "localhost")
    scheme = "wss" if headers.get("x-forwarded-proto") == "https" else "ws"
    prefix = headers.get("x-forwarded-prefix", "") + ("/cdp" if request.url.path.startswith("/cdp/") else "")
    lane = _lane(request)
    return f"{scheme}://{host}{prefix}/devtools/{target}{f'?{FIELD}={lane}' if lane else ''}"
