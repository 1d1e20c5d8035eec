"""A browser that runs takes a proxy or an authority, and lets go of it, without being started anew."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority
from sandbox_server.drivers.secrets.trust_files import TrustFiles
from tests.patience import PATIENCE_SECONDS, until

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
        thread.join(PATIENCE_SECONDS)


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


def test_a_browser_that_does_not_run_takes_it_when_it_starts(make_browser_server: Any, proxy: str) -> None:
    browser_server = make_browser_server(start="lazy")
    browser_server.start()
    until(browser_server.listens)
    use(browser_server, proxy)
    assert browser_server.pid is None

    until(browser_server.answers)
    assert loads(browser_server, "http://somewhere.invalid/")


def trusts(browser_server: BrowserServer, url: str) -> bool:
    """Whether something can be loaded that is no page: for a page whose certificate it does not trust, Chromium takes three seconds."""
    with browser_server.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        frame = client.result("Page.getFrameTree", session)["frameTree"]["frame"]["id"]
        options = {"disableCache": True, "includeCredentials": False}
        loaded = client.result("Network.loadNetworkResource", session, frameId=frame, url=url, options=options)["resource"]
        client.result("Target.closeTarget", targetId=target)
    assert loaded["success"] or loaded["netErrorName"] == "net::ERR_CERT_AUTHORITY_INVALID"
    return bool(loaded["success"])


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


class _Secure(ThreadingHTTPServer):
    """A site whose certificate an authority of the sandbox's signs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.authority = CertificateAuthority()
        context = self.authority.context("localhost")
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self.server_port}/"
        threading.Thread(target=self.serve_forever).start()

    def handle_error(self, *_: object) -> None:
        """Say nothing of a browser that does not trust it."""


@pytest.fixture(scope="module")
def sites() -> Iterator[list[_Secure]]:
    """Two of them, each with an authority of its own."""
    made = [_Secure(), _Secure()]
    yield made
    for each in made:
        each.shutdown()
        each.server_close()


@pytest.fixture
def trusting(make_browser_server: Any, tmp_path: Path) -> Callable[[_Secure | None], BrowserServer]:
    """Have a browser that runs trust the authority of a site, or none; the result is its process."""
    browser_server = make_browser_server()
    browser_server.paths["agent_run"] = str(tmp_path)
    files = TrustFiles(f"{tmp_path}/trust", system="/dev/null")
    (tmp_path / "trust").mkdir()
    (browser_server.folder / "isolation.json").write_text(Isolation("users", "a test").encode())
    browser_server.start()
    until(browser_server.answers)

    def trust(site: _Secure | None) -> BrowserServer:
        files.trust(site.authority.pem if site else None)
        answer = browser_server.request("PUT", "/browser/authority")
        assert answer.status_code == 200, answer.text
        return browser_server

    return trust


def test_an_authority_is_trusted_once_it_was_answered_and_the_one_before_it_no_more(
    trusting: Callable[[_Secure | None], BrowserServer], sites: list[_Secure]
) -> None:
    browser_server = trusting(None)
    pid = browser_server.pid

    def loaded() -> list[bool]:
        return [trusts(browser_server, site.url) and loads(browser_server, site.url) for site in sites]

    assert loaded() == [False, False]
    trusting(sites[0])
    assert loaded() == [True, False]
    trusting(sites[1])
    assert loaded() == [False, True]
    trusting(None)
    assert loaded() == [False, False]
    assert browser_server.pid == pid
