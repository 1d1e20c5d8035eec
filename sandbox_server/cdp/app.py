"""The composition root of the browser process."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.command_rules import ClientRules
from sandbox_server.cdp.emulation import Emulation
from sandbox_server.cdp.extensions import Extensions
from sandbox_server.cdp.http_endpoints import JsonEndpoints, answered
from sandbox_server.cdp.internal_api import BrowserInternalApi
from sandbox_server.cdp.lane_endpoints import LaneEndpoints
from sandbox_server.cdp.lanes import BrowserLanes
from sandbox_server.cdp.messages import MAX_FROM_BROWSER
from sandbox_server.cdp.profile_in_use import ProfileInUse
from sandbox_server.cdp.request_decisions import RequestDecisions
from sandbox_server.cdp.request_gate import RequestGate
from sandbox_server.cdp.tabs import RestorableTabs
from sandbox_server.cdp.takeover import TakeoverRules
from sandbox_server.cdp.websockets import DevtoolsSessions
from sandbox_server.core import logs
from sandbox_server.core.control import Holding
from sandbox_server.core.http.asgi_server import serve_on
from sandbox_server.core.http.measured_websocket import MeasuredWebSocket
from sandbox_server.drivers.box import desktop_root, isolation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.box.isolation import EgressEnforcement
from sandbox_server.drivers.browser.chromium import Chromium, ChromiumPaths
from sandbox_server.drivers.egress.network_namespace import PROXY_PORT
from sandbox_server.drivers.ipc.connect_with_retry import RESTART_SECONDS
from sandbox_server.drivers.proxy import forward_proxy
from sandbox_server.drivers.secrets.trust_files import TrustFiles
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings import Settings

PING_SECONDS = 20.0
"""Seconds between two WebSocket pings. They keep a gateway from closing an idle connection."""
PONG_SECONDS = 120.0
"""Seconds without a pong after which a client is disconnected."""
SHUTDOWN_SECONDS = 1


def create(settings: Settings) -> Starlette:
    """Make the application. Its lifespan starts the browser and keeps it running."""
    paths = settings.paths
    level = isolation.read(paths.isolation).level
    boxed = level == "box"
    place = ChromiumPaths(
        home=paths.desktop,
        policies=paths.browser_policies,
        downloads=paths.downloads,
        x_socket=settings.display.socket,
        display=browser_display(settings, boxed=boxed),
        viewable=desktop_root.viewable(),
        linked=not boxed,
        profiles=paths.profiles,
        authority=TrustFiles(paths.trust).authority if level != "none" else "",
        shares_pictures=boxed,
    )
    profile = ProfileInUse(JsonFile(paths.profile), settings.browser.profile)
    chromium = Chromium(Processes(paths.socket("spawn"), RESTART_SECONDS), settings.browser, place, profile.read())
    egress = isolation.read(paths.isolation).egress
    chromium.change(egress=egress != "off", egress_proxy=_asked_proxy(settings, egress))
    if forward_proxy.load(settings.proxy, JsonFile(paths.proxy_plan)).in_use and "proxy" not in settings.components.left_out:
        chromium.change(proxy=settings.proxy.address)
    emulation = Emulation()
    rules = ClientRules(_kept_holding(paths.control), extensions=settings.browser.extensions)
    decisions = RequestDecisions()
    kept = JsonFile(f"{paths.run}/browser-approvals.json")
    gate = RequestGate(decisions, lambda: rules.holding, kept, configured=settings.approvals.policy is not None)
    rules.keeps_downloads = lambda: "download" in gate.subjects
    takeover = TakeoverRules(emulation, Extensions(allowed=settings.browser.extensions))

    async def prepare(link: BrowserLink) -> None:
        """Set the configured cookies in a new profile, and apply the gate, emulation and takeover rules to a new browser."""
        await gate.apply(link)
        await emulation.apply(link)
        await takeover.apply(link, rules.holding)
        cookies = [dict(cookie) for cookie in settings.browser.cookies]
        if cookies and not (await link.command("Storage.getCookies"))["cookies"]:
            await link.command("Storage.setCookies", cookies=cookies)

    browser = BrowserSupervisor(
        chromium,
        RestorableTabs(paths.tabs),
        prepare,
        BoxClient(paths.socket("box"), isolation.read(paths.isolation)).resume,
        eager=settings.browser.start == "eager",
        homepage=settings.browser.homepage or "about:blank",
        rules=rules,
        hides=settings.control.private_focus,
    )

    lanes = BrowserLanes(browser)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with browser:
            yield
        await gate.close()
        await takeover.close()
        await emulation.close()
        await lanes.close()

    pages, sessions = JsonEndpoints(browser, paths.devtools_protocol, lanes), DevtoolsSessions(browser, gate, decisions, lanes)
    inside = BrowserInternalApi(browser, sessions, chromium, emulation, takeover, profile)
    return Starlette(
        routes=list(routes(pages, sessions, inside, LaneEndpoints(lanes))),
        lifespan=lifespan,
    )


def _kept_holding(path: str) -> Holding:
    """Read the lease that the API saved last: this process may start while a person has control."""
    try:
        return Holding.loads(JsonFile(path).read())
    except (OSError, TypeError, ValueError, KeyError):
        return Holding()


def browser_display(settings: Settings, *, boxed: bool) -> str:
    """Return the DISPLAY for the browser: a socket path in a box, because /tmp there belongs to the agent."""
    if not boxed:
        return settings.display.name
    return f"unix:{settings.paths.desktop_sockets}/{os.path.basename(settings.display.local_socket)}"


def routes(pages: JsonEndpoints, sessions: DevtoolsSessions, inside: BrowserInternalApi, lanes: LaneEndpoints) -> Iterator[BaseRoute]:
    """Yield Chromium's own paths (with and without `/cdp` and a trailing slash) and the internal paths for the API."""
    listed = {"/json": pages.targets, "/json/list": pages.targets, "/json/version": pages.version, "/json/protocol": pages.protocol}
    for prefix in ("", "/cdp"):
        for path, endpoint in listed.items():
            yield Route(f"{prefix}{path}", answered(endpoint))
            yield Route(f"{prefix}{path}/", answered(endpoint))
        yield Route(f"{prefix}/json/new", answered(pages.new), methods=["GET", "PUT"])
        yield Route(f"{prefix}/json/activate/{{id}}", answered(pages.activate))
        yield Route(f"{prefix}/json/close/{{id}}", answered(pages.close))
        yield WebSocketRoute(f"{prefix}/devtools/browser/{{id}}", sessions.on_browser)
        yield WebSocketRoute(f"{prefix}/devtools/browser", sessions.on_browser)
        yield WebSocketRoute(f"{prefix}/devtools/page/{{id}}", sessions.on_page)
    yield WebSocketRoute("/browser/focus", sessions.on_focus)
    yield WebSocketRoute("/browser/acts", sessions.on_acts)
    yield WebSocketRoute("/browser/halt", sessions.on_halt)
    yield WebSocketRoute("/browser/requests", sessions.on_requests)
    yield Route("/browser", answered(inside.status))
    yield Route("/browser/tabs", answered(inside.tabs))
    yield Route("/browser/pages", answered(inside.pages))
    yield Route("/browser/page-size", answered(inside.page_size))
    yield Route("/browser/emulation", answered(inside.emulate), methods=["PUT"])
    yield Route("/browser/proxy", answered(inside.use_proxy), methods=["PUT"])
    yield Route("/browser/authority", answered(inside.trust_authority), methods=["PUT"])
    yield Route("/browser/control", answered(inside.control), methods=["PUT"])
    yield Route("/browser/profile", answered(inside.use_profile), methods=["PUT"])
    yield Route("/browser/fresh", answered(inside.open_fresh), methods=["PUT"])
    yield Route("/browser/fresh", answered(inside.close_fresh), methods=["DELETE"])
    yield Route("/browser/secret", answered(inside.drop), methods=["PUT"])
    yield Route("/browser/lanes", answered(lanes.list))
    yield Route("/browser/lanes/{name}", answered(lanes.create), methods=["PUT"])
    yield Route("/browser/lanes/{name}", answered(lanes.delete), methods=["DELETE"])
    yield Route("/browser/restart", answered(inside.restart), methods=["POST"])
    yield Route("/healthz", healthy)


async def healthy(_: Request) -> Response:
    """Report that this process serves, in whatever state the browser is."""
    return JSONResponse({"status": "ok"})


def serve(settings: Settings) -> None:
    """Serve DevTools clients on the component's socket until the process is told to stop."""
    logs.configure(settings.logs.level)
    serve_on(
        settings.paths.socket("cdp"),
        create(settings),
        ws=MeasuredWebSocket,
        ws_max_size=MAX_FROM_BROWSER,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PONG_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def _asked_proxy(settings: Settings, egress: EgressEnforcement) -> str | None:
    """Return the proxy that asks the policy. With it the browser looks up no name, and its sockets show no address, to any program."""
    if egress in ("namespace", "rules"):
        return f"socks5://127.0.0.1:{PROXY_PORT}"
    return settings.egress.proxy_address if egress == "proxy" else None
