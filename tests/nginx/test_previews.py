"""Programs on a port of this machine, seen through the gateway."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

if TYPE_CHECKING:
    from tests.nginx.conftest import Gateway

KEY = {"X-AIO-API-Key": "the-key-of-the-tests"}


class Program(BaseHTTPRequestHandler):
    """Somebody's web program: tells what it got."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with path and headers; some paths redirect, and `/says` answers with the headers that its query names."""
        target = {"/absolute": "/login", "/itself": f"http://{self.headers['Host']}/login", "/away": "https://example.org/"}.get(self.path)
        body = json.dumps({"path": self.path, "headers": {name.lower(): value for name, value in self.headers.items()}}).encode()
        self.send_response(302 if target else 200)
        if target:
            self.send_header("Location", target)
        self.send_header("Service-Worker-Allowed", "/")
        for name, value in parse_qsl(self.path.partition("/says?")[2]):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Count a chunked body as it comes, and say so chunk by chunk."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while size := int(self.rfile.readline(), 16):
            self.rfile.read(size + 2)
            self.wfile.write(f"data: {size}\n\n".encode())
        self.rfile.readline()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        """Stay quiet."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where the program listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Program) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def echo_port() -> Iterator[int]:
    """Where a program takes WebSockets and sends back what it gets, after the path that it was asked for."""

    def answer(connection: ServerConnection) -> None:
        assert connection.request
        connection.send(connection.request.path)
        for message in connection:
            connection.send(message)

    with serve(answer, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.socket.getsockname()[1]
        server.shutdown()


def seen(gateway: "Gateway", uri: str, **headers: str) -> dict[str, object]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = gateway.ask("GET", uri, KEY | named)
    assert answer.status == 200, answer.content
    found: dict[str, object] = json.loads(answer.content)
    return found


def test_by_path_the_prefix_is_taken_off_and_the_rest_stays_as_it_was(gateway: "Gateway", port: int) -> None:
    assert seen(gateway, f"/proxy/{port}/a%2Fb%20c?x=%2F&y=a+b")["path"] == "/a%2Fb%20c?x=%2F&y=a+b"
    assert seen(gateway, f"/proxy/{port}/")["path"] == "/"


def test_by_absolute_path_the_prefix_stays(gateway: "Gateway", port: int) -> None:
    assert seen(gateway, f"/absproxy/{port}/a?x=1")["path"] == f"/absproxy/{port}/a?x=1"


def test_by_host_or_header_the_path_stays(gateway: "Gateway", port: int) -> None:
    assert seen(gateway, "/v1/echo?x=1", Host=f"{port}-box.example:8080")["path"] == "/v1/echo?x=1"
    found = seen(gateway, "/healthz", x_aio_proxy_port=str(port))
    assert found["path"] == "/healthz"
    assert "x-aio-proxy-port" not in str(found["headers"])


def test_the_program_learns_nothing_about_who_looks(gateway: "Gateway", port: int) -> None:
    for uri, host in ((f"/proxy/{port}/", "box"), ("/", f"{port}-box")):
        headers = str(seen(gateway, f"{uri}?api_key=the-key-of-the-tests", Host=host, Cookie="sandbox_session_8080=x; a=b")["headers"])
        assert "the-key-of-the-tests" not in headers
        assert "sandbox" not in headers
        assert "a=b" in headers


def test_the_program_sees_itself_on_localhost(gateway: "Gateway", port: int) -> None:
    headers = seen(gateway, f"/proxy/{port}/", Host="box.example:8080", Origin="http://box.example:8080")["headers"]
    assert isinstance(headers, dict)
    assert (headers["host"], headers["origin"]) == (f"localhost:{port}", f"http://localhost:{port}")
    assert (headers["x-forwarded-host"], headers["x-forwarded-prefix"]) == ("box.example:8080", f"/proxy/{port}")
    foreign = seen(gateway, f"/proxy/{port}/", Origin="http://evil.example")["headers"]
    assert isinstance(foreign, dict)
    assert foreign["origin"] == "http://evil.example"


@pytest.mark.parametrize(
    ("path", "location"), [("/absolute", "/proxy/{port}/login"), ("/itself", "/proxy/{port}/login"), ("/away", "https://example.org/")]
)
def test_a_redirect_stays_in_the_preview(gateway: "Gateway", port: int, path: str, location: str) -> None:
    answer = gateway.ask("GET", f"/proxy/{port}{path}", KEY)
    assert (answer.status, answer.headers["Location"]) == (302, location.replace("{port}", str(port)))


def test_a_missing_slash_is_added(gateway: "Gateway", port: int) -> None:
    answer = gateway.ask("GET", f"/proxy/{port}?a=1", KEY)
    assert (answer.status, answer.headers["Location"]) == (302, f"/proxy/{port}/?a=1")


def test_no_service_worker_of_a_program_may_reach_past_its_path(gateway: "Gateway", port: int) -> None:
    assert "Service-Worker-Allowed" not in gateway.ask("GET", f"/proxy/{port}/", KEY).headers


@pytest.mark.parametrize(
    ("uri", "headers"),
    [("/proxy/{port}/says", {}), ("/says", {"x-aio-proxy-port": "{port}"}), ("/says", {"Host": "{port}-box.example"})],
)
@pytest.mark.parametrize("said", ["X-Accel-Redirect", "x-accel-redirect"])
def test_a_program_leads_no_caller_to_another_place(gateway: "Gateway", port: int, uri: str, headers: dict[str, str], said: str) -> None:
    named = {name: value.replace("{port}", str(port)) for name, value in headers.items()}
    reached = gateway.echo.reached
    for place in ("/v1/echo", "@missing_page", "/proxy/1/"):
        answer = gateway.ask("GET", f"{uri.replace('{port}', str(port))}?{urlencode({said: place})}", KEY | named)
        assert answer.status == 200, answer.content
        assert str(json.loads(answer.content)["path"]).startswith("/says?")
    assert gateway.echo.reached == reached


def test_an_added_route_leads_no_caller_to_another_place(gateway: "Gateway", port: int) -> None:
    (gateway.drop_ins / "led.conf").write_text(f"location = /says {{ proxy_pass http://127.0.0.1:{port}; }}\n")
    gateway.kill_nginx()
    gateway.start_nginx()
    reached = gateway.echo.reached
    try:
        answer = gateway.ask("GET", f"/says?{urlencode({'X-Accel-Redirect': '/v1/echo'})}", KEY)
        assert (answer.status, gateway.echo.reached) == (200, reached)
        assert str(json.loads(answer.content)["path"]).startswith("/says?")
    finally:
        (gateway.drop_ins / "led.conf").unlink()
        gateway.kill_nginx()
        gateway.start_nginx()


def test_a_program_tells_browsers_nothing_about_the_whole_host(gateway: "Gateway", port: int) -> None:
    said = {
        "Clear-Site-Data": '"cookies"',
        "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
        "Alt-Svc": 'h2="evil.example:443"',
        "NEL": "{}",
        "Report-To": "{}",
        "X-Own": "kept",
    }
    answer = gateway.ask("GET", f"/proxy/{port}/says?{urlencode(said)}", KEY)
    assert {name for name in said if name in answer.headers} == {"X-Own"}


@pytest.mark.parametrize(
    ("uri", "headers", "path"),
    [
        ("/proxy/{port}/live?a=%2F", {}, "/live?a=%2F"),
        ("/absproxy/{port}/live", {}, "/absproxy/{port}/live"),
        ("/live", {"x-aio-proxy-port": "{port}"}, "/live"),
    ],
)
def test_sockets_pass_in_every_form(gateway: "Gateway", echo_port: int, uri: str, headers: dict[str, str], path: str) -> None:
    named = {name: value.replace("{port}", str(echo_port)) for name, value in headers.items()}
    address = f"ws://127.0.0.1:{gateway.port}{uri.replace('{port}', str(echo_port))}"
    with connect(address, additional_headers=KEY | named, proxy=None) as opened:
        assert opened.recv(5) == path.replace("{port}", str(echo_port))
        opened.send("x" * 100_000)
        assert opened.recv(5) == "x" * 100_000
    with pytest.raises(InvalidStatus), connect(address, additional_headers=named, proxy=None):
        pass


def test_nothing_on_a_port_is_a_502_that_says_so(gateway: "Gateway") -> None:
    for uri, host in (("/proxy/1/", "box"), ("/", "1-box")):
        answer = gateway.ask("GET", uri, KEY | {"Host": host})
        assert answer.status == 502
        assert json.loads(answer.content)["message"] == "nothing answers on port 1"
        page = gateway.ask("GET", uri, KEY | {"Host": host, "Accept": "text/html"})
        assert page.status == 502
        assert b"reloads by itself" in page.content


def test_the_gateways_own_port_is_no_preview(gateway: "Gateway") -> None:
    for uri, host in ((f"/proxy/{gateway.port}/", "box"), ("/", f"{gateway.port}-box")):
        answer = gateway.ask("GET", uri, KEY | {"Host": host})
        assert answer.status == 403
        assert "belongs to the sandbox itself" in json.loads(answer.content)["message"]


def test_a_preview_is_recognised_however_its_path_is_written(gateway: "Gateway", port: int) -> None:
    for path in ("/%70roxy/{port}/", "//proxy/{port}/", "/proxy//{port}/", "/abs%70roxy/{port}/"):
        assert gateway.ask("GET", path.replace("{port}", str(gateway.port)), KEY).status == 403, path
        assert gateway.ask("GET", path.replace("{port}", str(port)), KEY).status == 200, path


@pytest.mark.parametrize("host", ["10-0-0-1.example.org", "127-0-0-1.nip.io", "box-3000.example", "3000.example"])
def test_a_host_that_only_looks_like_a_preview_is_none(gateway: "Gateway", host: str) -> None:
    assert gateway.ask("GET", "/v1/echo", KEY | {"Host": host}).status == 200


@pytest.mark.parametrize("value", ["", "80a", "0x50", "80,81", "999999"])
def test_a_header_that_is_not_a_number_is_refused(gateway: "Gateway", value: str) -> None:
    assert gateway.ask("GET", "/v1/echo", KEY | {"x-aio-proxy-port": value}).status == (400 if value else 200)


def test_a_signed_in_browser_is_led_to_the_previews_own_host(gateway: "Gateway", port: int) -> None:
    page = {"Host": f"localhost:{gateway.port}", "Accept": "text/html"}
    answer = gateway.ask("GET", f"/proxy/{port}/a?api_key={KEY['X-AIO-API-Key']}", page)
    address, _, ticket = answer.headers["Location"].partition("?ticket=")
    assert (answer.status, address) == (302, f"http://{port}-preview.localhost:{gateway.port}/a")
    own = {"Host": f"{port}-preview.localhost:{gateway.port}", "Accept": "text/html"}
    signed_in = gateway.ask("GET", f"/a?ticket={ticket}", own)
    assert (signed_in.status, signed_in.headers["Location"]) == (302, "/a")
    seen = gateway.ask("GET", "/a", own | {"Cookie": signed_in.headers["Set-Cookie"].partition(";")[0]})
    assert json.loads(seen.content)["path"] == "/a"


def test_a_chunked_upload_and_a_stream_of_events_pass_at_the_same_time(gateway: "Gateway", port: int) -> None:
    head = f"POST /proxy/{port}/ HTTP/1.1\r\nHost: box\r\nX-AIO-API-Key: {KEY['X-AIO-API-Key']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", gateway.port), 30) as client:
        client.sendall(head.encode())
        told = client.makefile("rb")
        for size in (3, 900, 5):
            client.sendall(f"{size:x}\r\n".encode() + b"x" * size + b"\r\n")
            while (line := told.readline()) and not line.startswith(b"data:"):
                continue
            assert line == f"data: {size}\n".encode()
        client.sendall(b"0\r\n\r\n")


def test_a_share_link_shows_its_port_until_it_is_taken_back(gateway: "Gateway", port: int) -> None:
    share, token = gateway.shares.create(port, 600, caller="key")
    page = gateway.ask("GET", f"/proxy/{port}/a?share={token}", {"Accept": "text/html"})
    cookie = {"Cookie": page.headers["Set-Cookie"].partition(";")[0]}
    assert (page.status, page.headers["Location"]) == (302, f"/proxy/{port}/a")
    assert token not in gateway.ask("GET", f"/proxy/{port}/a?share={token}", {}).content.decode()
    assert json.loads(gateway.ask("GET", f"/proxy/{port}/b", cookie).content)["path"] == "/b"
    assert gateway.ask("GET", "/v1/echo", cookie).status == 401
    gateway.shares.revoke(share.id)
    assert gateway.ask("GET", f"/proxy/{port}/b", cookie).status == 401
