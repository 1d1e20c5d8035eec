"""A real browser, a site that says what it was asked, and our DevTools client on it."""

import json
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.devtools.devtools import Devtools
from tests.cdp.conftest import display, make_browser_server, shared

__all__ = ["display", "make_browser_server", "shared"]


class _Answers(BaseHTTPRequestHandler):
    """`/echo` shows the request's headers, `/redirect` leads to it, `/file` is a download, `/never` does not answer.

    All else is a page of its path's name.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/never":
            self.rfile.read(1)
        if path == "/redirect":
            self._send(302, b"", ("Location", "/echo"), ("Set-Cookie", "hop=1; Path=/; HttpOnly"))
        elif path == "/echo":
            self._send(
                200,
                json.dumps({name.lower(): value for name, value in self.headers.items()}).encode(),
                ("Content-Type", "application/json"),
            )
        elif path == "/file":
            self._send(
                200, b"x" * 100_000, ("Content-Type", "application/octet-stream"), ("Content-Disposition", "attachment; filename=data.bin")
            )
        else:
            self._send(200, f"<!doctype html><title>{path}</title><p>{path}".encode(), ("Content-Type", "text/html"))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send(200, b"taken", ("Content-Type", "text/plain"))

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body))), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The origin of the site."""
    with _Server(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
async def devtools(shared: Any) -> AsyncIterator[Devtools]:
    """The client, connected; nothing of earlier tests is in its logs."""
    async with Devtools(shared.socket) as opened:
        await opened.connection()
        yield opened


class Tab:
    """One tab, driven by a client of its own."""

    def __init__(self, client: Any, target: str) -> None:
        self._client = client
        self.id = target
        self._session = client.attach(target)
        client.result("Page.enable", self._session)

    def go(self, url: str) -> None:
        """Load an address, whatever becomes of it: where it cannot be loaded, until the error page is there.

        A navigation that is aborted, as by a download, leaves the tab at the document that it has.
        """
        self._client.events.clear()
        went = self._client.result("Page.navigate", self._session, url=url)
        if went.get("errorText") != "net::ERR_ABORTED":
            self._wait_for_load(went["loaderId"])

    def _wait_for_load(self, loader: str) -> None:
        """Wait until the document of a navigation, which may be an error page, has loaded. What loaded before it does not count."""
        committed = False
        while True:
            message = self._client.events.pop(0) if self._client.events else self._client.receive()
            match message.get("method"):
                case "Page.frameNavigated":
                    committed = committed or message["params"]["frame"]["loaderId"] == loader
                case "Page.loadEventFired" if committed:
                    return

    def run(self, script: str) -> Any:
        """The value of an expression."""
        return self._client.evaluate(script, self._session)

    def command(self, method: str, **params: Any) -> Any:
        """Send a command, whatever it answers."""
        return self._client.command(method, self._session, **params)

    def post(self, method: str, **params: Any) -> None:
        """Send a command and do not wait."""
        self._client.send(method, self._session, **params)


@pytest.fixture
def tab(shared: Any) -> Iterator[Tab]:
    """A tab of the test's own."""
    with shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        yield Tab(client, target)
        client.command("Target.closeTarget", targetId=target)


@pytest.fixture
def owner(shared: Any) -> BrowserClient:
    """What tells of tabs."""
    return BrowserClient(shared.socket)
