"""The ways in which an agent's browser acts, each set up before a person takes the pages: none acts while she drives or is private."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.cdp.conftest import Session
from tests.image.container import PAINTED
from tests.image.rfb import viewing
from tests.image.sockets import connect
from tests.image.test_control import Person
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

PASSWORD = "kestrel9x"
FIELD = "position:fixed;left:0;top:0;width:100vw;height:80vh;font-size:60px"
PAGE = (
    f"""<!doctype html><title>bank</title><form method=post action=/in><input name=pass type=password autofocus style="{FIELD}"></form>"""
)
SPY = "addEventListener('input', (e) => { fetch('/stolen?by=WHO&' + e.target.value); window.told?.(e.target.value) }, true)"
WORKER = (
    """self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (e) => { if (e.request.mode === 'navigate') e.respondWith(new Response("""
    + json.dumps(f"{PAGE}<script>{SPY.replace('WHO', 'worker')}</script>")
    + """, { headers: { 'Content-Type': 'text/html' } })) });"""
)
SERVER = f"""
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
SEEN = []
class Site(BaseHTTPRequestHandler):
    def answer(self, body, kind="text/html"):
        self.send_response(200); self.send_header("Content-Type", kind); self.send_header("Content-Length", str(len(body)))
        self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        if self.path == "/seen": return self.answer(repr(SEEN).encode(), "text/plain")
        SEEN.append((self.path, self.headers.get("X-Agent", "")))
        if self.path == "/worker.js": return self.answer({WORKER.encode()!r}, "text/javascript")
        self.answer({PAGE.encode()!r})
    def do_POST(self):
        SEEN.append(("posted", self.rfile.read(int(self.headers["Content-Length"])).decode())); self.answer(b"<title>in</title>")
    def log_message(self, *_): pass
ThreadingHTTPServer(("127.0.0.1", 8124), Site).serve_forever()
"""
URL = "http://localhost:8124/"
RETURN = 0xFF0D


@pytest.fixture
def person(sandbox: "Sandbox") -> Iterator[Person]:
    """Somebody who lets go of everything at the end."""
    found = Person(sandbox)
    yield found
    found.control("release")
    until(lambda: sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"}).status_code == 200)  # a tab is closing


@pytest.fixture(scope="module")
def bank(sandbox: "Sandbox") -> str:
    """A page to sign in at, whose server tells what it was asked."""
    sandbox.request("POST", "/v1/file/write", json={"file": "/home/gem/effects.py", "content": SERVER})
    sandbox.request("POST", "/v1/bash/exec", json={"command": "python3 /home/gem/effects.py", "async_mode": True})
    until(lambda: sandbox.run("curl", "-sf", f"{URL}seen").code == 0)
    return URL


@pytest.fixture
def agent(sandbox: "Sandbox") -> Iterator[Session]:
    """A client of DevTools with the agent's key."""
    address = f"{sandbox.base_url.replace('http', 'ws')}/devtools/browser/any"
    with Session(connect(address, additional_headers=sandbox.headers, proxy=None, max_size=None, legacy=True)) as client:
        yield client


def seen(sandbox: "Sandbox") -> str:
    return sandbox.run("curl", "-sf", f"{URL}seen").stdout


def prepare(agent: Session, bank: str) -> tuple[str, str]:
    """Leave everything that may be left in a page and a browser."""
    target = agent.result("Target.createTarget", url=bank)["targetId"]
    session = agent.attach(target)
    until(lambda: agent.seen("document.title", session) == "bank")
    for method in ("Page.enable", "Network.enable", "Runtime.enable", "Debugger.enable"):
        agent.result(method, session)
    agent.evaluate("navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)", session)
    left: list[tuple[str, dict[str, Any]]] = [
        ("Runtime.addBinding", {"name": "told"}),
        ("Page.addScriptToEvaluateOnNewDocument", {"source": SPY.replace("WHO", "script")}),
        ("Network.setExtraHTTPHeaders", {"headers": {"X-Agent": "was-here"}}),
        ("Page.setBypassCSP", {"enabled": True}),
        ("Emulation.setUserAgentOverride", {"userAgent": "Agent"}),
        ("Emulation.setCPUThrottlingRate", {"rate": 20}),
        ("Input.setIgnoreInputEvents", {"ignore": True}),
        ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
    ]
    for method, params in left:
        agent.result(method, session, **params)
    agent.result("Browser.setDownloadBehavior", behavior="allow", downloadPath="/tmp/taken")
    return target, session


def clean(agent: Session, target: str, session: str) -> None:
    agent.command("Fetch.disable", session)
    agent.command("Input.setIgnoreInputEvents", session, ignore=False)
    agent.command("Page.navigate", session, url=f"{URL}seen")
    agent.evaluate("navigator.serviceWorker.getRegistrations().then((all) => Promise.all(all.map((one) => one.unregister())))", session)
    agent.command("Browser.setDownloadBehavior", behavior="default")
    agent.command("Target.closeTarget", targetId=target)


@pytest.mark.parametrize("verb", ["take", "private"])
def test_what_was_left_learns_nothing_of_a_password_in_a_page_that_a_person_opens(
    sandbox: "Sandbox", person: Person, agent: Session, bank: str, verb: str
) -> None:
    target, session = prepare(agent, bank)
    try:
        agent.events.clear()
        person.control(verb, **({"scope": ["gui", "cdp"]} if verb == "take" else {}))
        before = seen(sandbox)
        assert person.ask("POST", "/v1/browser/page/navigate", json={"url": bank}).status_code == 200
        with viewing(sandbox, person.headers) as viewer:
            until(lambda: 'type="password"' in person.ask("GET", "/v1/browser/page/html").text.replace("\\", ""))
            person.ask("POST", "/v1/browser/page/evaluate", json={"expression": PAINTED}).raise_for_status()
            viewer.point(640, 500, 1)
            viewer.point(640, 500)
            focus = {"expression": "document.hasFocus() && document.activeElement.name"}
            until(lambda: person.ask("POST", "/v1/browser/page/evaluate", json=focus).json()["data"] == "pass")
            for character in PASSWORD:
                viewer.key(ord(character))
            viewer.key(RETURN)
            until(lambda: f"pass={PASSWORD}" in seen(sandbox)[len(before) - 1 :], told=lambda: seen(sandbox)[len(before) - 1 :])
        told = seen(sandbox)[len(before) - 1 :]
        assert ("stolen" in told, "was-here" in told) == (False, False), told
        person.control("release")
        agent.command("Browser.getVersion")
        heard = json.dumps(agent.events)
        assert PASSWORD not in heard
        assert "Runtime.bindingCalled" not in heard
        assert "Fetch.requestPaused" not in heard
    finally:
        person.control("release")
        clean(agent, target, session)


REFUSED: dict[str, dict[str, Any]] = {
    "Input.dispatchMouseEvent": {"type": "mousePressed", "x": 1, "y": 1, "button": "left"},
    "Input.insertText": {"text": "x"},
    "Page.navigate": {"url": "about:blank"},
    "Page.setDocumentContent": {"frameId": "x", "html": "x"},
    "Page.addScriptToEvaluateOnNewDocument": {"source": "x()"},
    "Network.setExtraHTTPHeaders": {"headers": {}},
    "Network.setCookie": {"name": "a", "value": "b", "url": "http://a.example/"},
    "DOM.setAttributeValue": {"nodeId": 1, "name": "a", "value": "b"},
    "CSS.setStyleSheetText": {"styleSheetId": "1", "text": ""},
    "Debugger.pause": {},
    "Emulation.setCPUThrottlingRate": {"rate": 20},
    "Runtime.addBinding": {"name": "told"},
    "ServiceWorker.stopAllWorkers": {},
    "Storage.clearCookies": {},
    "IndexedDB.deleteDatabase": {"databaseName": "a"},
    "Overlay.setInspectMode": {"mode": "none"},
    "Target.createTarget": {"url": "about:blank"},
    "Browser.setDownloadBehavior": {"behavior": "deny"},
    "Runtime.evaluate": {"expression": "({then(r) { document.title = 'x' }})", "throwOnSideEffect": True, "awaitPromise": True},
    "Runtime.awaitPromise": {"promiseObjectId": "1"},
    "Extensions.loadUnpacked": {"path": "/tmp"},
    "PWA.launch": {"manifestId": "x"},
    "Cast.startTabMirroring": {"sinkName": "x"},
    "Tethering.bind": {"port": 9999},
    "Domain.ofTomorrow": {},
}


@pytest.mark.parametrize("verb", ["take", "private"])
def test_no_method_that_acts_is_done_meanwhile(sandbox: "Sandbox", person: Person, agent: Session, verb: str) -> None:
    del sandbox
    person.control(verb)
    allowed = [method for method, params in REFUSED.items() if "error" not in agent.command(method, **params)]
    assert allowed == []


def test_what_reaches_past_the_pages_is_refused_at_all_times(agent: Session) -> None:
    def reasons(method: str) -> str:
        return str(agent.command(method, **REFUSED[method])["error"]["message"])

    assert "BROWSER_EXTENSIONS" in reasons("Extensions.loadUnpacked")
    for method in ("PWA.launch", "Cast.startTabMirroring", "Tethering.bind"):
        assert "reaches past" in reasons(method)
    assert "not in Tandem's list of methods" in reasons("Domain.ofTomorrow")
    assert "tools" in agent.command("Target.createTarget", url="devtools://devtools/bundled/devtools_app.html")["error"]["message"]
