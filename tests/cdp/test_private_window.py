"""The window of a person who is private, in a real browser."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from tests.cdp.test_takeover import FREE, HELD, OURS, WORKER, hold
from tests.patience import PATIENCE_SECONDS, until

BrowserServer = Any
BROWSER_TIMES = {"CLOSE_SECONDS": 30.0}
"""A busy machine may need more than a second to close a window, and then the browser would be ended."""
PRIVATE = HELD | {"private": "ann"}
PERSON = {"X-Sandbox-Caller": "ann", "X-Sandbox-Scopes": "browser", "X-Sandbox-Actor": "person"}
PAGE = b"""<!doctype html><title>bank</title><input id=p type=password autofocus><script>
const say = (what) => fetch('/said?' + encodeURIComponent(JSON.stringify(what)));
addEventListener('load', async () => {
  if (location.pathname === '/agent') return;
  const workers = await navigator.serviceWorker.getRegistrations();
  await say({ cookie: document.cookie, kept: localStorage.length, workers: workers.length, planted: typeof window.planted });
  if (location.pathname === '/file') location.href = '/download';
  if (location.pathname === '/stay') fetch('/open');
  if (location.pathname === '/hangs') for (;;);
  if (location.pathname === '/asks') { onbeforeunload = () => 'stay'; alert('stay') }
  if (location.pathname === '/framing')
    document.body.append(Object.assign(document.createElement('iframe'), { src: `http://localhost:${location.port}/framed` }));
});</script>"""


class Site:
    """A site of which an agent has a cookie and a service worker, and what it was asked."""

    def __init__(self) -> None:
        self.there = 0
        """Pages that are open, as their connections tell."""
        self.asked: list[tuple[str, str | None, str | None]] = []

    def said(self) -> list[dict[str, Any]]:
        """What fresh pages told of themselves."""
        return [json.loads(unquote(path[6:])) for path, *_ in self.asked if path.startswith("/said?")]


@pytest.fixture
def bank() -> Iterator[tuple[str, Site]]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append((self.path, self.headers.get("Cookie"), self.headers.get("X-Agent")))
            if self.path == "/open":
                self.stay()
                return
            worker, file = self.path == "/worker.js", self.path == "/download"
            body = WORKER if worker else PAGE
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if worker else "application/zip" if file else "text/html")
            self.send_header("Content-Length", str(len(body)))
            if self.path == "/agent":
                self.send_header("Set-Cookie", "who=agent; Max-Age=3600")
            if file:
                self.send_header("Content-Disposition", "attachment; filename=statement.zip")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def stay(self) -> None:
            self.send_response(200)
            self.end_headers()
            site.there += 1
            with suppress(OSError):
                for _ in range(1200):
                    self.wfile.write(b".")
                    time.sleep(0.05)
            site.there -= 1

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", site
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


@pytest.fixture
def free(shared: BrowserServer) -> Iterator[BrowserServer]:
    """A browser of which a person lets go at the end."""
    yield shared
    hold(shared, FREE)


def open_fresh(browser_server: BrowserServer, url: str = "about:blank", person: str = "ann") -> Any:
    return browser_server.request("PUT", "/browser/fresh", json={"person": person, "url": url})


def targets_of(client: Any) -> list[str]:
    return sorted(info["targetId"] for info in client.result("Target.getTargets", filter=[{}])["targetInfos"])


def prepared(browser_server: BrowserServer, url: str) -> tuple[Any, str]:
    """An agent's client that left a cookie, a worker, storage, headers and a script."""
    agent = browser_server.connect()
    target = agent.result("Target.createTarget", url=f"{url}/agent")["targetId"]
    session = agent.attach(target)
    until(lambda: agent.seen("document.title", session) == "bank")
    agent.evaluate("localStorage.setItem('who', 'agent')", session)
    agent.evaluate("navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)", session)
    agent.result("Page.enable", session)
    agent.result("Network.enable", session)
    agent.result("Page.addScriptToEvaluateOnNewDocument", session, source="window.planted = 1")
    agent.result("Network.setExtraHTTPHeaders", session, headers={"X-Agent": "was-here"})
    agent.result("Target.setDiscoverTargets", discover=True, filter=[{}])
    agent.result("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
    return agent, target


def test_nothing_of_the_agents_is_in_it_and_no_client_learns_of_it(free: BrowserServer, bank: tuple[str, Site]) -> None:
    url, site = bank
    agent, target = prepared(free, url)
    with agent, free.connect(headers=OURS) as ours, free.connect(headers=PERSON) as hers:
        for client in (ours, hers):
            client.result("Target.setDiscoverTargets", discover=True)
            client.result("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        before, contexts = targets_of(ours), ours.result("Target.getBrowserContexts")
        tabs = free.get("/browser/tabs")
        for client in (agent, ours, hers):
            client.events.clear()
        hold(free, PRIVATE)
        assert open_fresh(free, f"{url}/framing").status_code == 200
        until(lambda: len(site.said()) == 2)
        assert site.said() == [{"cookie": "", "kept": 0, "workers": 0, "planted": "undefined"}] * 2, "what it opens itself, too"
        shown = [entry for entry in site.asked if entry[0].startswith("/fram")]
        assert [entry[1:] for entry in shown] == [(None, None)] * 2
        for client in (ours, hers):
            assert targets_of(client) == before
            assert client.result("Target.getBrowserContexts") == contexts
        assert free.get("/browser/tabs") == tabs
        listed = free.request("GET", "/json/list", headers=PERSON).json()
        assert {each["id"] for each in listed} <= set(before)
        hold(free, FREE)
        assert targets_of(agent) == before
        for client in (agent, ours, hers):
            client.result("Browser.getVersion")
            assert not [event for event in client.events if "/fram" in json.dumps(event)]
            told = [event["params"] for event in client.events if event["method"].startswith("Target.")]
            infos = [params["targetInfo"] for params in told if "targetInfo" in params]
            assert {info["browserContextId"] for info in infos if "browserContextId" in info} <= {contexts["defaultBrowserContextId"]}
            named = {info["targetId"] for info in infos}
            assert {params["targetId"] for params in told if "targetId" in params} <= {*before, *named}
        agent.result("Target.closeTarget", targetId=target)


ENDS = {
    "release": FREE,
    "public": HELD,
    "another": HELD | {"private": "bob", "holder": "bob"},
    "thaw": {**FREE, "epoch": 9},
}


@pytest.mark.parametrize("way", ENDS)
def test_the_private_window_closes_when_private_mode_ends(free: BrowserServer, bank: tuple[str, Site], way: str) -> None:
    url, site = bank
    hold(free, PRIVATE)
    assert open_fresh(free, f"{url}/stay").status_code == 200
    until(lambda: site.there == 1)
    assert [path for path, *_ in site.asked].count("/stay") == 1, "an address may be good for one time"
    hold(free, PRIVATE | {"epoch": 8, "state": "frozen", "holder": None})
    assert open_fresh(free, f"{url}/other").status_code == 200, "a freeze leaves her private"
    assert site.there == 1
    hold(free, ENDS[way])
    until(lambda: site.there == 0)
    assert open_fresh(free).status_code == 409, "she is not private"


def test_the_private_window_can_close_before_the_end_of_private_mode_is_announced(free: BrowserServer, bank: tuple[str, Site]) -> None:
    url, site = bank
    hold(free, PRIVATE)
    for _ in range(2):
        assert open_fresh(free, f"{url}/stay").status_code == 200
        until(lambda: site.there == 1)
        assert free.request("DELETE", "/browser/fresh").status_code == 200
        until(lambda: site.there == 0)
    assert free.request("DELETE", "/browser/fresh").status_code == 200


def test_a_page_that_hangs_or_asks_is_closed_all_the_same(free: BrowserServer, bank: tuple[str, Site]) -> None:
    url, site = bank
    hold(free, PRIVATE)
    for page in ("/hangs", "/asks"):
        assert open_fresh(free, url + page).status_code == 200
    until(lambda: len(site.said()) == 2)
    pid = free.pid
    hold(free, FREE)
    assert free.pid == pid, "the browser lives on, so they were closed in time"


def test_nothing_is_downloaded_in_it(free: BrowserServer, bank: tuple[str, Site]) -> None:
    url, site = bank
    hold(free, PRIVATE)
    assert open_fresh(free, f"{url}/file").status_code == 200
    until(lambda: any(entry[0] == "/download" for entry in site.asked))
    assert open_fresh(free, f"{url}/after").status_code == 200
    until(lambda: len(site.said()) == 2)
    assert list((free.home / "downloads").iterdir()) == []


@pytest.mark.parametrize("person", ["bob", ""])
def test_nobody_else_gets_a_window(free: BrowserServer, person: str) -> None:
    hold(free, PRIVATE)
    answer = open_fresh(free, person=person)
    assert (answer.status_code, answer.json()["data"]["reason"]) == (409, "not_private")


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"person": "ann", "url": 5}'])
def test_what_asks_for_no_window_is_refused(free: BrowserServer, body: bytes) -> None:
    assert free.request("PUT", "/browser/fresh", content=body).status_code == 400


def test_a_browser_that_does_not_start_opens_none(make_browser_server: Callable[..., BrowserServer]) -> None:
    browser_server = make_browser_server(executable="/nonexistent")
    browser_server.start()
    until(browser_server.listens)
    hold(browser_server, PRIVATE)
    assert open_fresh(browser_server).status_code == 503


def test_a_browser_that_does_not_close_it_is_ended(make_browser_server: Callable[..., BrowserServer], bank: tuple[str, Site]) -> None:
    url, site = bank
    browser_server = make_browser_server()
    browser_server.start(END_SECONDS=30.0)
    until(browser_server.answers)
    hold(browser_server, PRIVATE)
    assert open_fresh(browser_server, f"{url}/stay").status_code == 200
    until(lambda: site.there == 1)
    pid = browser_server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    hold(browser_server, FREE)
    assert browser_server.pid != pid
    until(lambda: site.there == 0)
