"""The gate of requests on a real browser: no client is faster than it, and without the API it is closed."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import unix_connect

from sandbox_server.core.identity import SERVER, Caller
from tests.patience import PATIENCE_SECONDS, until

BrowserServer = Any
API = Caller("api", frozenset({"browser", SERVER})).headers()
HELD = {"epoch": 9, "state": "human", "holder": "ann", "reach": ["cdp", "gui"]}
FREE = {"epoch": 10, "state": "agent", "holder": None, "reach": []}
SERVED = {"/script": "text/javascript", "/document": "text/html", "/strict": "text/html"}
"""Paths whose query is what they answer, and its type."""
STRICT = "script-src 'none'; report-uri /deny/report"
_SPECULATES = (
    "Object.assign(document.createElement('script'), {type: 'speculationrules', textContent: JSON.stringify({%s: [{urls: ['{}']}]})})"
)
OPENS = {
    "popup": "window.open('{}')",
    "popup navigated": "window.open('about:blank').location = '{}'",
    "without opener": "window.open('{}', '_blank', 'noopener')",
    "link": "Object.assign(document.createElement('a'), {href: '{}', target: '_blank', rel: 'noopener'}).click()",
    "prefetched": f"document.head.append({_SPECULATES % 'prefetch'}); setTimeout(() => location = '{{}}', 1000); 0",
    "prerendered": f"document.head.append({_SPECULATES % 'prerender'}); setTimeout(() => location = '{{}}', 1000); 0",
    "object": "document.body.append(Object.assign(document.createElement('object'), {data: '{}', type: 'text/html'}))",
}
SENDS = {
    "beacon": "navigator.sendBeacon('/deny/beacon', 'x')",
    "kept": "fetch('/deny/kept', {method: 'POST', body: 'x', keepalive: true}).catch(() => 0); 0",
    "options": "fetch('/deny/options', {method: 'OPTIONS', body: 'x'}).catch(() => 0); 0",
    "bytes": "fetch('/deny/bytes', {method: 'POST', body: new Uint8Array([0xed, 0xa0, 0x80, 0xff])}).catch(() => 0); 0",
    "report": "document.body.append(Object.assign(document.createElement('iframe'), {src: '/strict?<script>0</script>'})); 0",
    "moved": "fetch('/moved', {method: 'POST', body: 'x'}).catch(() => 0); 0",
    "shared": "new SharedWorker('/script?' + encodeURIComponent(`fetch('/deny/shared', {method: 'POST', body: 'x'})`)); 0",
    "fetch": "fetch('/deny/fetch', {method: 'POST', body: 'x'}).catch(() => 0)",
    "form": "Object.assign(document.body.appendChild(document.createElement('form')), {method: 'post', action: '/deny/form'}).submit()",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('${origin}/deny/worker', {method: 'POST', body: 'x'})`]))); 0",
}


PAINTED = "new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))"
"""Waits for the first picture: a page takes no clicks before."""


class Site(ThreadingHTTPServer):
    """A site that keeps the paths that it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever).start()


class _Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        path, _, given = self.path.partition("?")
        if path != "/favicon.ico":
            self.server.asked.append(path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = unquote(given).encode() if path in SERVED else f"<!doctype html><title>{path}</title><body>".encode()
        self.send_response(307 if path == "/moved" else 200)
        self.send_header("Content-Type", SERVED.get(path, "text/html"))
        for name, value in {"/moved": [("Location", "/deny/moved")], "/strict": [("Content-Security-Policy", STRICT)]}.get(path, []):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_OPTIONS = do_GET  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def pages() -> Iterator[Site]:
    with Site() as site:
        yield site
        site.shutdown()


@pytest.fixture(autouse=True)
def one_tab(shared: BrowserServer) -> Iterator[None]:
    """The next test finds one tab, whatever became of this one."""
    yield
    with shared.connect() as client:
        for info in client.pages()[1:]:
            client.result("Target.closeTarget", targetId=info["targetId"])


class Api:
    """Stands for the API: it denies what has `/deny` in its path, admits the rest, and never decides on `/undecided`."""

    def __init__(self, browser_server: BrowserServer) -> None:
        self.asked: list[str] = []
        self.withdrawn: list[int] = []
        self._browser_server = browser_server
        self._socket = unix_connect(
            browser_server.socket, "ws://browser/browser/requests", additional_headers=API, compression=None, legacy=True
        )
        threading.Thread(target=self._judge).start()

    def tell(self, *subjects: str) -> None:
        """Say what rules are about, and wait until it holds."""
        self._socket.send(json.dumps({"subjects": subjects}))
        until(lambda: self._browser_server.get("/browser")["gated"] == sorted(subjects))

    def leave(self) -> None:
        self._socket.close()

    def _judge(self) -> None:
        try:
            for message in self._socket:
                question = json.loads(message)
                if question.get("withdrawn"):
                    self.withdrawn.append(question["id"])
                    continue
                self.asked.append(question["url"])
                if not question["url"].endswith("/undecided"):
                    self._socket.send(json.dumps({"id": question["id"], "admitted": "/deny" not in urlsplit(question["url"]).path}))
        except ConnectionClosed:
            return


@contextmanager
def judging(browser_server: BrowserServer, *subjects: str) -> Iterator[Api]:
    """With rules for some subjects; afterwards there are none."""
    api = Api(browser_server)
    try:
        api.tell(*subjects)
        yield api
        api.tell()
    finally:
        api.leave()


@pytest.fixture(scope="module")
def browser_server(shared: BrowserServer) -> BrowserServer:
    return shared


def go(client: Any, session: str, url: str) -> str | None:
    """Navigate a page; the error that the client is told."""
    failed: str | None = client.result("Page.navigate", session, url=url).get("errorText")
    return failed


def test_no_client_navigates_a_tab_before_it_is_gated(shared: BrowserServer, pages: Site) -> None:
    with judging(shared, "navigation") as api, shared.connect() as client:
        for number in range(20):
            target = client.result("Target.createTarget", url="about:blank")["targetId"]
            assert go(client, client.attach(target), f"{pages.url}/deny/{number}") == "net::ERR_BLOCKED_BY_CLIENT"
            client.result("Target.closeTarget", targetId=target)
        assert (pages.asked, len(api.asked)) == ([], 20)


def test_nor_opens_one_at_a_url_that_is_not_admitted(shared: BrowserServer, pages: Site) -> None:
    with judging(shared, "navigation") as api, shared.connect() as client:
        context = client.result("Target.createBrowserContext")["browserContextId"]
        urls = [f"{pages.url}/deny/{number}" for number in range(4)]
        opened = [client.result("Target.createTarget", url=urls[0])["targetId"]]
        opened.append(client.result("Target.createTarget", url=urls[1], newWindow=True)["targetId"])
        client.result("Target.createTarget", url=urls[2], browserContextId=context)
        opened.append(shared.request("PUT", f"/json/new?{urls[3]}").json()["id"])
        until(lambda: sorted(api.asked) == urls)
        fine = client.result("Target.createTarget", url=f"{pages.url}/fine")["targetId"]
        until(lambda: pages.asked)
        for target in (*opened, fine):
            client.result("Target.closeTarget", targetId=target)
        client.result("Target.disposeBrowserContext", browserContextId=context)
        assert pages.asked == ["/fine"]


@pytest.mark.parametrize("button", [{"button": "middle"}, {"button": "left", "modifiers": 2}])
def test_nor_by_a_click_that_opens_a_tab(shared: BrowserServer, pages: Site, button: dict[str, Any]) -> None:
    link = "<a href='/deny' style='display: block; height: 90vh'>here</a>"
    with judging(shared, "navigation") as api, shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        assert go(client, session, f"{pages.url}/document?{quote(link)}") is None
        until(lambda: client.seen("document.querySelector('a')?.offsetHeight > 99", session))
        client.evaluate(PAINTED, session)
        for kind in ("mousePressed", "mouseReleased"):
            client.result("Input.dispatchMouseEvent", session, type=kind, x=50, y=50, clickCount=1, **button)
        until(lambda: f"{pages.url}/deny" in api.asked)
        for info in client.pages():
            if info["targetId"] == target or info.get("openerId") == target or "/deny" in info["url"]:
                client.result("Target.closeTarget", targetId=info["targetId"])
        assert pages.asked == ["/document"]


def test_tabs_that_open_again_in_a_new_browser_are_held_up(shared: BrowserServer, pages: Site) -> None:
    with judging(shared, "navigation") as api:
        with shared.connect() as client:
            target = client.result("Target.createTarget", url="about:blank")["targetId"]
            assert go(client, client.attach(target), f"{pages.url}/deny") == "net::ERR_BLOCKED_BY_CLIENT"
            until(lambda: any(info["url"].endswith("/deny") for info in client.pages()))  # the error's page, which comes after the answer
        assert shared.request("POST", "/browser/restart").status_code == 200
        until(lambda: len(api.asked) == 2)
    assert pages.asked == []


_GOES_ON = "setInterval(() => fetch('{0}/deny/{1}', {{method: 'POST', body: 'x', mode: 'no-cors'}}).catch(() => 0), 50)"


def test_what_pages_and_workers_that_were_there_before_send_is_held_up(shared: BrowserServer, pages: Site) -> None:
    scripts = {name: _GOES_ON.format(pages.url, name) for name in ("page", "worker", "shared", "service")}
    with shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        assert go(client, session, f"{pages.url}/page") is None
        until(lambda: client.seen("document.title", session) == "/page")
        for begins in (
            scripts["page"],
            f"new Worker('/script?{quote(scripts['worker'])}'); 0",
            f"new SharedWorker('/script?{quote(scripts['shared'])}'); 0",
            f"navigator.serviceWorker.register('/script?{quote(scripts['service'])}'); 0",
        ):
            client.result("Runtime.evaluate", session, expression=begins)
        until(lambda: {f"/deny/{name}" for name in scripts} <= set(pages.asked))
        with judging(shared, "submit") as api:
            until(lambda: {f"{pages.url}/deny/{name}" for name in ("page", "worker", "service")} <= set(api.asked))
            before, asked = len(pages.asked), len(api.asked)
            until(lambda: len(api.asked) > asked + 30)
            assert pages.asked[before:] == []
            client.result("Runtime.evaluate", session, expression="navigator.serviceWorker.getRegistration().then(it => it.unregister())")
            client.result("Target.closeTarget", targetId=target)


def test_only_the_gate_holds_requests_up_in_the_browsers_own_session(shared: BrowserServer) -> None:
    with shared.connect() as client:
        again = client.result("Target.attachToBrowserTarget")["sessionId"]
        for session in (None, again):
            assert "in the sessions of pages" in client.command("Fetch.enable", session, patterns=[])["error"]["message"]


def test_the_question_of_a_page_that_is_closed_is_withdrawn(shared: BrowserServer, pages: Site) -> None:
    with judging(shared, "navigation") as api, shared.connect() as client:
        target = client.result("Target.createTarget", url=f"{pages.url}/undecided")["targetId"]
        until(lambda: api.asked)
        client.result("Target.closeTarget", targetId=target)
        until(lambda: api.withdrawn)
    assert pages.asked == []


def test_nor_one_that_it_attaches_to_by_itself(shared: BrowserServer, pages: Site) -> None:
    with judging(shared, "navigation"), shared.connect() as client, shared.connect() as other:
        client.result("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        while client.events:
            client.events.clear()
        for number in range(20):
            asking = other.send("Target.createTarget", url="about:blank")
            session = client.event("Target.attachedToTarget")["sessionId"]
            assert go(client, session, f"{pages.url}/deny/{number}") == "net::ERR_BLOCKED_BY_CLIENT"
            other.result("Target.closeTarget", targetId=other.reply(asking)["result"]["targetId"])
        assert pages.asked == []


@pytest.mark.parametrize("way", OPENS)
def test_nor_does_a_page_open_one_by_itself(shared: BrowserServer, pages: Site, way: str) -> None:
    with judging(shared, "navigation") as api, shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        assert go(client, session, f"{pages.url}/first") is None
        until(lambda: client.seen("document.title", session) == "/first")
        client.result("Runtime.evaluate", session, expression=OPENS[way].replace("{}", f"{pages.url}/deny"), userGesture=True)
        until(lambda: f"{pages.url}/deny" in api.asked)
        for info in client.pages():
            if info["targetId"] == target or info.get("openerId") == target:
                client.result("Target.closeTarget", targetId=info["targetId"])
        assert pages.asked == ["/first"]


def test_an_interception_of_a_clients_own_leads_nowhere_else(shared: BrowserServer, pages: Site) -> None:
    with judging(shared, "navigation"), shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        client.result("Fetch.enable", session, patterns=[{"urlPattern": "*"}])
        navigating = client.send("Page.navigate", session, url=f"{pages.url}/fine")
        paused = client.event("Fetch.requestPaused")
        client.result("Fetch.continueRequest", session, requestId=paused["requestId"], url=f"{pages.url}/deny")
        assert client.reply(navigating)["result"].get("errorText") == "net::ERR_BLOCKED_BY_CLIENT"
        client.result("Target.closeTarget", targetId=target)
    assert pages.asked == []


@pytest.mark.parametrize("way", SENDS)
def test_data_that_is_sent_waits_and_what_is_read_does_not(shared: BrowserServer, pages: Site, way: str) -> None:
    with judging(shared, "submit") as api, shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        assert go(client, session, f"{pages.url}/page") is None
        until(lambda: client.seen("document.title", session) == "/page")
        assert client.evaluate("fetch('/deny/read').then(answer => answer.status)", session) == 200
        client.result("Runtime.evaluate", session, expression=SENDS[way])
        until(lambda: f"{pages.url}/deny/{way}" in api.asked)
        client.result("Target.closeTarget", targetId=target)
        assert f"{pages.url}/deny/read" not in api.asked
    assert [path for path in pages.asked if "/deny" in path] == ["/deny/read"]


def test_while_a_person_drives_nothing_is_asked(shared: BrowserServer, pages: Site) -> None:
    person = {"X-Sandbox-Caller": "ann", "X-Sandbox-Scopes": "browser", "X-Sandbox-Actor": "person"}
    with judging(shared, "navigation") as api:
        assert shared.request("PUT", "/browser/control", json=HELD).status_code == 200
        with shared.connect(headers=person) as client:
            target = client.result("Target.createTarget", url="about:blank")["targetId"]
            assert go(client, client.attach(target), f"{pages.url}/deny") is None
            client.result("Target.closeTarget", targetId=target)
        assert shared.request("PUT", "/browser/control", json=FREE).status_code == 200
        assert (api.asked, pages.asked) == ([], ["/deny"])


def test_only_the_sandboxs_own_processes_decide(shared: BrowserServer) -> None:
    assert shared.request("GET", "/browser")
    with pytest.raises(Exception, match="403"):
        shared.connect("/browser/requests")


def opens(browser_server: BrowserServer, url: str) -> bool:
    """Whether a page can be opened in a new tab."""
    with browser_server.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        failed = go(client, client.attach(target), url)
        client.result("Target.closeTarget", targetId=target)
    return failed is None


def test_without_the_api_pages_wait_for_it_and_then_do_not_open(
    make_browser_server: Callable[..., BrowserServer], pages: Site, tmp_path: Path
) -> None:
    browser_server = make_browser_server()
    browser_server.start(WITHOUT_API_SECONDS=0.5)
    until(browser_server.answers)
    assert opens(browser_server, f"{pages.url}/before")
    first = Api(browser_server)
    first.tell("navigation")
    first.leave()
    assert not opens(browser_server, f"{pages.url}/fine")
    browser_server.stop()
    browser_server.start(WITHOUT_API_SECONDS=30.0)
    until(browser_server.answers)
    tried = threading.Thread(target=lambda: opens(browser_server, f"{pages.url}/later"))
    tried.start()
    second = Api(browser_server)
    until(lambda: second.asked == [f"{pages.url}/later"])
    tried.join(PATIENCE_SECONDS)
    assert pages.asked == ["/before", "/later"]
    second.tell()
    second.leave()
    assert opens(browser_server, f"{pages.url}/deny")
