"""A browser that runs takes a proxy, and lets go of it, without being started anew."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

BrowserServer = Any


class _Proxy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(b"<title>By way of the proxy</title>")

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(30)


def use(browser_server: BrowserServer, address: str | None) -> None:
    answer = browser_server.request("PUT", "/browser/proxy", json=address)
    assert answer.status_code == 200, answer.text


def loads(browser_server: BrowserServer, url: str) -> bool:
    """Whether a page can be loaded."""
    with browser_server.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        failed = client.result("Page.navigate", session, url=url).get("errorText")
        client.result("Target.closeTarget", targetId=target)
    return not failed


def test_a_proxy_counts_once_it_was_answered(shared: BrowserServer, proxy: str) -> None:
    pid = shared.pid
    for _ in range(2):
        assert not loads(shared, "http://somewhere.invalid/")
        use(shared, proxy)
        assert loads(shared, "http://somewhere.invalid/")
        use(shared, None)
    assert not loads(shared, "http://somewhere.invalid/")
    assert shared.pid == pid


def test_nobody_sees_how(shared: BrowserServer, proxy: str) -> None:
    with shared.connect() as client:
        before = {info["targetId"] for info in client.pages()}
        use(shared, proxy)
        use(shared, None)
        assert {info["targetId"] for info in client.pages()} <= before, "a page that an earlier test closed may go meanwhile"


def test_a_browser_that_does_not_run_takes_it_when_it_starts(make_browser_server: Any, until: Any, proxy: str) -> None:
    browser_server = make_browser_server(start="lazy")
    browser_server.start()
    until(browser_server.listens)
    use(browser_server, proxy)
    assert browser_server.pid is None

    until(browser_server.answers)
    assert loads(browser_server, "http://somewhere.invalid/")
