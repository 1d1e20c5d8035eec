import gzip
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest

from sandbox_server.core.errors import Conflict, InvalidArgument, PermissionDenied, TooLarge
from sandbox_server.drivers.clients.agent_network import EgressRefused
from sandbox_server.drivers.documents.web_markdown import Web
from sandbox_server.drivers.egress.policy import INTERNAL_RULE
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


class Answers(BaseHTTPRequestHandler):
    """Answers by path; what was asked for is kept."""

    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Host"]))
        if self.path.startswith("/to/"):
            self._send(302, b"", ("Location", self.path.removeprefix("/to/")))
        elif self.path == "/gzip":
            self._send(200, gzip.compress(b"x" * (4 << 20)), ("Content-Encoding", "gzip"))
        elif self.path == "/broken-gzip":
            self._send(200, b"no gzip", ("Content-Encoding", "gzip"))
        elif self.path == "/brotli":
            self._send(200, b"", ("Content-Encoding", "br"))
        elif self.path == "/never":
            self.rfile.read(1)
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
        elif self.path == "/missing":
            self._send(404, b"")
        else:
            self._send(200, b"<h1>Page</h1>", ("Content-Type", "text/html; charset=latin-1"))

    def _send(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def port() -> Iterator[int]:
    Answers.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


class Names:
    """Says where names are, as `Reach` does: all but one that begins with `inside` are on this machine."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def addresses(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        if host.startswith("far"):
            raise Conflict(f"{host} has no address")
        if host.startswith("inside"):
            raise PermissionDenied(f"{host} is internal")
        return ["127.0.0.1"]


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def web(names: Names, tmp_path: Path) -> Callable[..., Web]:
    def make(max_bytes: int = 1 << 20, seconds: float = 30.0, proxy: str | None = None) -> Web:
        return Web(names, str(tmp_path), max_bytes=max_bytes, seconds=seconds, proxy=lambda _: proxy)

    return make


async def test_a_page_is_fetched_with_what_is_known_of_it(web: Callable[..., Web], port: int) -> None:
    fetched = await web().fetch(f"http://user:secret@page.example:{port}/a/page.html?q=1#part")

    with fetched.file as file:
        assert file.read() == b"<h1>Page</h1>"
    assert (fetched.known.media_type, fetched.known.charset, fetched.known.name) == ("text/html", "latin-1", "page.html")
    assert fetched.known.url == f"http://page.example:{port}/a/page.html?q=1"


async def test_a_host_is_resolved_once_and_asked_by_its_name(web: Callable[..., Web], names: Names, port: int) -> None:
    (await web().fetch(f"http://page.example:{port}/x")).file.close()

    assert names.asked == [("page.example", port)]
    assert Answers.asked == [("/x", f"page.example:{port}")]


async def test_a_redirect_is_judged_like_the_first_address(web: Callable[..., Web], names: Names, port: int) -> None:
    (await web().fetch(f"http://one.example:{port}/to/http://two.example:{port}/x")).file.close()
    with pytest.raises(PermissionDenied):
        await web().fetch(f"http://one.example:{port}/to/http://inside.example/x")

    assert names.asked == [("one.example", port), ("two.example", port), ("one.example", port), ("inside.example", 80)]
    assert Answers.asked[1] == ("/x", f"two.example:{port}")


async def test_a_proxy_is_asked_by_name_for_what_only_it_may_know(web: Callable[..., Web], port: int) -> None:
    with (await web(proxy=f"127.0.0.1:{port}").fetch("http://far.example/x")).file as file:
        assert file.read() == b"<h1>Page</h1>"
    with pytest.raises(Conflict, match="has no address"):
        await web().fetch("http://far.example/x")

    assert Answers.asked == [("http://far.example/x", "far.example")]


async def test_a_proxy_is_not_asked_for_an_internal_address(web: Callable[..., Web], port: int) -> None:
    with pytest.raises(PermissionDenied):
        await web(proxy=f"127.0.0.1:{port}").fetch("http://inside.example/x")

    assert Answers.asked == []


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://one.example/", "gopher://one.example/"])
async def test_a_redirect_leads_to_no_other_scheme(web: Callable[..., Web], port: int, target: str) -> None:
    with pytest.raises(InvalidArgument, match="only http and https"):
        await web().fetch(f"http://one.example:{port}/to/{target}")


async def test_redirects_come_to_an_end(web: Callable[..., Web], port: int) -> None:
    with pytest.raises(Conflict, match="redirects more than"):
        await web().fetch(f"http://one.example:{port}/to/" + "/to/" * 12 + "x")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing", "one.example answered 404"),
        ("/broken-gzip", "invalid gzip data"),
        ("/brotli", "unsupported content encoding: br"),
        ("/cut", "cannot be fetched from"),
    ],
)
async def test_what_the_other_side_does_wrong_is_said(web: Callable[..., Web], port: int, path: str, message: str) -> None:
    with pytest.raises(Conflict, match=message):
        await web().fetch(f"http://one.example:{port}{path}")


async def test_a_host_that_does_not_answer_is_not_waited_for(web: Callable[..., Web], port: int) -> None:
    with pytest.raises(Conflict, match="took more than"):
        await web(seconds=0.3).fetch(f"http://one.example:{port}/never")


async def test_a_host_that_nobody_answers_at_cannot_be_fetched_from(web: Callable[..., Web]) -> None:
    with pytest.raises(Conflict, match="cannot be fetched from"):
        await web().fetch("http://one.example:1/")


@pytest.mark.parametrize("path", ["/page", "/gzip"])
async def test_what_is_too_large_is_not_fetched_whole(web: Callable[..., Web], port: int, path: str) -> None:
    with pytest.raises(TooLarge, match="exceeds 10 bytes"):
        await web(max_bytes=10).fetch(f"http://one.example:{port}{path}")


async def test_a_compressed_page_is_fetched_plain(web: Callable[..., Web], port: int) -> None:
    with (await web(max_bytes=5 << 20).fetch(f"http://one.example:{port}/gzip")).file as file:
        assert file.read() == b"x" * (4 << 20)


@pytest.mark.parametrize("url", ["http://", "http:", "http:///x", "https://[::1", "http://a b/", "http://x:99999/"])
async def test_what_is_no_address_is_refused(web: Callable[..., Web], url: str) -> None:
    with pytest.raises(InvalidArgument):
        await web().fetch(url)


async def test_with_a_network_of_the_box_names_are_left_to_it_and_a_refusal_is_the_policys(tmp_path: Path, names: Names) -> None:
    class Refusing(httpcore2.AnyIOBackend):
        async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
            rule = INTERNAL_RULE if host.startswith("inside") else "default"
            raise EgressRefused(f"{host}:{port} is not allowed ({rule})", rule)

    def network(_: ssl.SSLContext) -> httpx2.AsyncBaseTransport:
        transport = httpx2.AsyncHTTPTransport(trust_env=False)
        transport._pool = httpcore2.AsyncConnectionPool(network_backend=Refusing())
        return transport

    web = Web(names, str(tmp_path), max_bytes=1000, seconds=20, proxy=lambda _: None, network=network)
    with pytest.raises(PermissionDenied, match=r"egress: site.example:80 is not allowed \(default\)") as raised:
        await web.fetch("http://site.example/")
    assert raised.value.details["reason"] == "egress"
    with pytest.raises(PermissionDenied, match=f"{INTERNAL_RULE}.: an internal address$") as raised:
        await web.fetch("http://inside.example/")
    assert "FETCH_ALLOW names" in str(raised.value.hint)
    assert names.asked == []
