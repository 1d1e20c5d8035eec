"""What holds in the browser while a person has the pages."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from sandbox_server.cdp.extensions import Extensions
from sandbox_server.cdp.takeover import TakeoverRules, is_taken_over
from sandbox_server.core.control import Holding
from sandbox_server.core.errors import Unavailable
from tests.patience import PATIENCE_SECONDS, until

BrowserServer = Any
HELD = {"epoch": 2, "state": "human", "holder": "ann", "reach": ["gui", "cdp"]}
FREE: dict[str, Any] = {"epoch": 3, "state": "agent", "holder": None, "reach": []}
WORKER = b"""self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(
  new Response("<title>worker</title>", { headers: { "Content-Type": "text/html" } })));"""


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        script = self.path == "/worker.js"
        body = WORKER if script else b"<!doctype html><title>network</title><input id=p type=password>"
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if script else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Seen", self.headers.get("X-Agent", "nothing"))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def bank() -> Iterator[str]:
    """A site that has a service worker, if a page of it asks for one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


@contextmanager
def held(browser_server: BrowserServer) -> Iterator[None]:
    """A person has the pages meanwhile."""
    hold(browser_server, HELD)
    try:
        yield
    finally:
        hold(browser_server, FREE)


def hold(browser_server: BrowserServer, holding: dict[str, Any]) -> None:
    answer = browser_server.request("PUT", "/browser/control", json=holding)
    assert answer.status_code == 200, answer.text


OURS = {"X-Sandbox-Caller": "api", "X-Sandbox-Scopes": "browser server"}


def title_of_new_page(browser_server: BrowserServer, url: str) -> str:
    """What a page shows that is opened in the meantime, as a person opens it in the address bar."""
    with browser_server.connect(headers=OURS) as client:
        target = client.result("Target.createTarget", url=url)["targetId"]
        session = client.attach(target)
        try:
            until(lambda: client.seen("document.title", session))
            return str(client.seen("document.title + (window.planted || '') + navigator.userAgent", session))
        finally:
            client.result("Target.closeTarget", targetId=target)


@pytest.mark.parametrize(
    ("holding", "raised"),
    [
        (Holding(), False),
        (Holding(2, "human", "ann", frozenset({"gui", "cdp"})), True),
        (Holding(2, "human", "ann", frozenset({"shell"})), False),
        (Holding(2, "shared"), False),
        (Holding(2, "frozen", None, frozenset(), "ann"), True),
    ],
)
def test_takeover_rules_apply_while_a_person_has_the_pages(holding: Holding, *, raised: bool) -> None:
    assert is_taken_over(holding) == raised


def test_no_service_worker_answers_a_page_that_a_person_opens(shared: BrowserServer, bank: str) -> None:
    with shared.connect() as client:
        session = client.attach(client.result("Target.createTarget", url=bank)["targetId"])
        until(lambda: client.seen("document.title", session) == "network")
        client.evaluate("navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)", session)
        until(lambda: client.seen("!!navigator.serviceWorker.controller", session))
        assert title_of_new_page(shared, bank).startswith("worker")
        with held(shared):
            assert title_of_new_page(shared, bank).startswith("network")
        assert title_of_new_page(shared, bank).startswith("worker")
        client.evaluate(
            "navigator.serviceWorker.getRegistrations().then((all) => Promise.all(all.map((one) => one.unregister())))", session
        )


def test_no_device_is_emulated_meanwhile_and_it_is_again_afterwards(shared: BrowserServer, bank: str) -> None:
    assert shared.request("PUT", "/browser/emulation", json={"Emulation.setUserAgentOverride": {"userAgent": "Pocket"}}).is_success
    try:
        assert title_of_new_page(shared, bank).endswith("Pocket")
        with held(shared):
            assert not title_of_new_page(shared, bank).endswith("Pocket")
        assert title_of_new_page(shared, bank).endswith("Pocket")
    finally:
        shared.request("PUT", "/browser/emulation", json=None)


_ASKED = "fetch('/asked').then(() => false, () => true)"
LEFT: dict[str, tuple[str, dict[str, Any], str]] = {
    "script": ("Page.addScriptToEvaluateOnNewDocument", {"source": "window.planted = 1"}, "!!window.planted"),
    "headers": (
        "Network.setExtraHTTPHeaders",
        {"headers": {"X-Agent": "was-here"}},
        "(() => { const x = new XMLHttpRequest(); x.open('GET', '/', false); x.send();"
        "return x.getResponseHeader('Seen') === 'was-here' })()",
    ),
    "agent": ("Emulation.setUserAgentOverride", {"userAgent": "Agent"}, "navigator.userAgent === 'Agent'"),
    "metrics": (
        "Emulation.setDeviceMetricsOverride",
        {"width": 333, "height": 444, "deviceScaleFactor": 1, "mobile": True},
        "screen.width === 333",
    ),
    "touch": ("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 3}, "navigator.maxTouchPoints === 3"),
    "zone": ("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"}, "new Date().getTimezoneOffset() === -540"),
    "media": (
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
        "matchMedia('(prefers-color-scheme: dark)').matches",
    ),
    "blocked": ("Network.setBlockedURLs", {"urls": ["*/asked*"]}, _ASKED),
    "offline": (
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
        "document.title !== 'network'",
    ),
    "csp": (
        "Page.setBypassCSP",
        {"enabled": True},
        "(() => { const m = document.createElement('meta'); m.httpEquiv = 'Content-Security-Policy'; m.content = \"script-src 'none'\";"
        "document.head.append(m); const s = document.createElement('script'); s.textContent = 'window.bypassed = 1';"
        "document.head.append(s); return !!window.bypassed })()",
    ),
}


@pytest.mark.parametrize("left", LEFT)
def test_what_a_client_left_does_not_act_on_a_page_meanwhile(shared: BrowserServer, bank: str, left: str) -> None:
    method, params, seen = LEFT[left]
    with shared.connect() as client, shared.connect(headers=OURS) as onlooker:
        target = client.result("Target.createTarget", url=bank)["targetId"]
        session, watch = client.attach(target), onlooker.attach(target)
        until(lambda: client.seen("document.title", session) == "network")
        client.result("Network.enable", session)
        client.result("Page.enable", session)
        client.result(method, session, **params)
        assert reloaded(onlooker, watch, seen) is True
        with held(shared):
            assert reloaded(onlooker, watch, seen) is False
        assert reloaded(onlooker, watch, seen) is True
        client.result("Target.closeTarget", targetId=target)


def reloaded(client: Any, session: str, seen: str) -> object:
    """What a page says of itself once it was loaded anew, from a fresh document."""
    client.evaluate("window.old = 1", session)
    client.command("Page.reload", session)
    until(lambda: client.seen("!window.old && document.readyState === 'complete'", session))
    return client.evaluate(seen, session)


def test_input_reaches_a_page_that_a_client_had_ignore_it(shared: BrowserServer, bank: str) -> None:
    with shared.connect() as client, shared.connect(headers=OURS) as person:
        target = client.result("Target.createTarget", url=bank)["targetId"]
        session, theirs = client.attach(target), person.attach(target)
        until(lambda: client.seen("document.title", session) == "network")
        client.evaluate("addEventListener('mousedown', () => window.pressed = (window.pressed || 0) + 1)", session)
        client.result("Input.setIgnoreInputEvents", session, ignore=True)
        press(person, theirs)
        assert not client.seen("window.pressed", session)

        def is_pressed() -> object:
            press(person, theirs)  # a page that has drawn nothing yet takes no input
            return person.seen("window.pressed", theirs)

        with held(shared):
            until(is_pressed)
        client.result("Target.closeTarget", targetId=target)


def press(client: Any, session: str) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        client.command("Input.dispatchMouseEvent", session, type=kind, x=20, y=20, button="left", clickCount=1)


def test_a_page_that_a_client_froze_runs_its_scripts_again(shared: BrowserServer, bank: str) -> None:
    with shared.connect() as client, shared.connect(headers=OURS) as onlooker:
        target = client.result("Target.createTarget", url=bank)["targetId"]
        session, watch = client.attach(target), onlooker.attach(target)
        until(lambda: client.seen("document.title", session) == "network")
        client.result("Emulation.setScriptExecutionDisabled", session, value=True)
        client.result("Emulation.setCPUThrottlingRate", session, rate=20)
        with held(shared):
            onlooker.command("Page.navigate", watch, url="data:text/html,<title>off</title><script>document.title='on'</script>")
            until(lambda: onlooker.seen("document.title", watch) == "on")
        client.result("Target.closeTarget", targetId=target)


def test_a_breakpoint_with_a_condition_does_not_run_it(shared: BrowserServer, bank: str) -> None:
    with shared.connect() as client, shared.connect(headers=OURS) as onlooker:
        target = client.result("Target.createTarget", url=bank)["targetId"]
        session, watch = client.attach(target), onlooker.attach(target)
        until(lambda: client.seen("document.title", session) == "network")
        client.evaluate("window.typed = function typed() {\n  return 1;\n}\n//# sourceURL=typed.js", session)
        client.result("Debugger.enable", session)
        client.result("Debugger.setBreakpointByUrl", session, lineNumber=1, url="typed.js", condition="(window.stolen = 1, false)")
        with held(shared):
            assert onlooker.evaluate("typed(); window.stolen || 0", watch) == 0
        assert onlooker.evaluate("typed(); window.stolen || 0", watch) == 1
        client.result("Target.closeTarget", targetId=target)


def test_a_session_that_nothing_else_brings_back_ends_and_with_it_what_it_did(shared: BrowserServer, bank: str) -> None:
    with shared.connect() as client, shared.connect(headers=OURS) as onlooker:
        target = client.result("Target.createTarget", url=bank)["targetId"]
        session, watch = client.attach(target), onlooker.attach(target)
        until(lambda: client.seen("document.title", session) == "network")
        own = onlooker.evaluate("navigator.hardwareConcurrency", watch)
        client.result("Emulation.setHardwareConcurrencyOverride", session, hardwareConcurrency=own + 7)
        assert onlooker.evaluate("navigator.hardwareConcurrency", watch) == own + 7
        with held(shared):
            assert client.event("Target.detachedFromTarget")["sessionId"] == session
            assert onlooker.evaluate("navigator.hardwareConcurrency", watch) == own
        client.result("Target.closeTarget", targetId=target)


def test_tools_that_were_open_are_closed(shared: BrowserServer, bank: str) -> None:
    with shared.connect(headers=OURS) as ours:
        target = ours.result("Target.createTarget", url="devtools://devtools/bundled/devtools_app.html")["targetId"]
        assert "error" in _attached(shared, target)
        with held(shared):
            until(lambda: target not in [info["targetId"] for info in ours.result("Target.getTargets")["targetInfos"]])


def _attached(browser_server: BrowserServer, target: str) -> dict[str, Any]:
    """Whether a client gets to evaluate anything in a target."""
    with browser_server.connect() as client:
        session = client.result("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        reply: dict[str, Any] = client.command("Runtime.evaluate", session, expression="1")
        return reply


def test_the_rules_of_a_takeover_hold_in_the_browser_that_comes_after_a_restart(
    make_browser_server: Callable[..., BrowserServer], bank: str
) -> None:
    browser_server = make_browser_server()
    browser_server.start()
    until(browser_server.answers)
    assert browser_server.request("PUT", "/browser/emulation", json={"Emulation.setUserAgentOverride": {"userAgent": "Pocket"}}).is_success
    with held(browser_server):
        assert browser_server.request("POST", "/browser/restart").is_success
        assert not title_of_new_page(browser_server, bank).endswith("Pocket")
    assert title_of_new_page(browser_server, bank).endswith("Pocket")


class Link:
    """A browser without tools, in which no client can be attached."""

    over = False

    async def command(self, *_: object, **__: object) -> dict[str, Any]:
        """List no targets."""
        return {"targetInfos": []}

    async def attach(self, *_: object) -> None:
        """Attach nobody."""
        raise Unavailable("the browser is busy")


class Told:
    """An emulation that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def pause(self) -> None:
        """Note it."""
        self.told.append("pause")

    async def resume(self, _: object) -> None:
        """Note it."""
        self.told.append("resume")


@pytest.mark.anyio
async def test_a_takeover_while_a_new_browser_opens_its_tabs_holds_in_it() -> None:
    link, emulation = Link(), Told()
    rules = TakeoverRules(emulation, Extensions(allowed=False))  # type: ignore[arg-type] # a stand-in
    await rules.apply(link, Holding())  # type: ignore[arg-type] # which serves nobody yet
    for holding in (Holding.loads(HELD), Holding.loads(FREE)):
        await rules.keep(holding)
    assert emulation.told == ["pause", "resume"]
    link.over = True
    await rules.keep(Holding.loads(HELD))
    assert emulation.told == ["pause", "resume"]
    await rules.apply(Link(), Holding.loads(HELD))  # type: ignore[arg-type]
    assert emulation.told == ["pause", "resume", "pause"]
