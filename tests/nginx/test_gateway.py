"""The gateway as a client sees it: what passes, what goes on, what it says when something is not there."""

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.attacks import SOCKET
from tests.patience import until

if TYPE_CHECKING:
    from tests.nginx.conftest import Gateway

KEY = {"X-AIO-API-Key": "the-key-of-the-tests"}
HTML = {"Accept": "text/html,*/*"}
HANDSHAKE = "GET {uri} HTTP/1.1\r\nHost: localhost\r\n" + SOCKET.replace(", close", "")


def ticket(gateway: "Gateway", **fields: object) -> str:
    answer = gateway.ask("POST", "/tickets", KEY, json.dumps(fields).encode())
    assert answer.status == 200, answer.content
    return str(json.loads(answer.content)["ticket"])


def shake_hands(gateway: "Gateway", uri: str, *headers: str) -> tuple[int, socket.socket]:
    """Ask for a WebSocket; the status and the open connection."""
    connection = socket.create_connection(("127.0.0.1", gateway.port), 30)
    lines = "".join(f"{header}\r\n" for header in headers)
    connection.sendall((HANDSHAKE.replace("{uri}", uri) + lines + "\r\n").encode())
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(1)
        assert chunk, received
        received += chunk
    return int(received.split()[1]), connection


def echo_over(connection: socket.socket, text: bytes) -> bytes:
    """Send one masked text frame and read one short frame back (RFC 6455, section 5.2)."""
    mask = b"\x01\x02\x03\x04"
    connection.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))
    with connection.makefile("rb") as reader:
        head = reader.read(2)
        return reader.read(head[1])


def test_what_the_client_says_of_itself_is_replaced(gateway: "Gateway") -> None:
    spoofed = {
        "X-Sandbox-Caller": "root",
        "X-Sandbox-Scopes": "all",
        "X-Request-Id": "mine",
        "X-Original-URI": "/x",
        "X-Sandbox-Surface": "mcp",
        "Proxy": "http://evil",
    }
    answer = gateway.ask("GET", "/v1/echo?a=%2F&b=c+d", KEY | spoofed)
    seen = json.loads(answer.content)
    assert seen["caller"] == "key"
    assert seen["uri"] == "/v1/echo?a=%2F&b=c+d"
    assert seen["headers"]["x-request-id"] == answer.headers["X-Request-Id"] != "mine"
    assert answer.headers.get_all("X-Request-Id") == [answer.headers["X-Request-Id"]]
    assert not {"x-sandbox-surface", "proxy", "x-aio-api-key", "authorization"} & set(seen["headers"])


def test_the_command_line_may_say_what_it_is(gateway: "Gateway") -> None:
    seen = json.loads(gateway.ask("GET", "/v1/echo", KEY | {"X-Sandbox-Surface": "cli"}).content)
    assert seen["headers"]["x-sandbox-surface"] == "cli"


def test_a_ticket_becomes_a_cookie_with_which_everything_works(gateway: "Gateway") -> None:
    value = ticket(gateway)
    first = gateway.ask("GET", f"/v1/echo?ticket={value}&a=1")
    assert json.loads(first.content)["uri"] == "/v1/echo?a=1"
    cookie = {"Cookie": f"mine=1; {first.headers['Set-Cookie'].partition(';')[0]}"}
    assert gateway.ask("GET", f"/v1/echo?ticket={value}").status == 401
    seen = json.loads(gateway.ask("GET", f"/v1/echo?ticket={value}", cookie).content)
    assert seen["headers"]["cookie"] == "mine=1"
    status, connection = shake_hands(gateway, f"/v1/echo/ws?ticket={value}", f"Cookie: {cookie['Cookie']}", "Origin: http://localhost")
    assert status == 101
    assert echo_over(connection, b"hello") == b"hello"
    connection.close()


def test_a_page_is_reloaded_without_its_ticket(gateway: "Gateway") -> None:
    answer = gateway.ask("GET", f"/v1/echo?ticket={ticket(gateway)}&path=a%3Fticket%3Db", HTML)
    assert (answer.status, answer.headers["Location"]) == (302, "/v1/echo?path=a%3Fticket%3Db")
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert gateway.ask("GET", answer.headers["Location"], HTML | {"Cookie": cookie}).status == 200


def test_two_tickets_in_one_request_are_malformed_whoever_sends_them(gateway: "Gateway") -> None:
    one = "tk-" + "A" * 43
    for headers in ({}, KEY, HTML):
        refused = gateway.ask("GET", f"/v1/who?ticket={one}&ticket={one}", headers)
        assert (refused.status, json.loads(refused.content)["message"]) == (400, "a request has one ticket, and one share link's token")


def test_a_socket_needs_a_credential_and_with_a_cookie_the_right_origin(gateway: "Gateway") -> None:
    cookie = gateway.ask("GET", f"/v1/echo?ticket={ticket(gateway)}").headers["Set-Cookie"].partition(";")[0]
    for headers in ([], [f"Cookie: {cookie}"], [f"Cookie: {cookie}", "Origin: http://evil.example"], [f"Cookie: {cookie}", "Origin: null"]):
        status, connection = shake_hands(gateway, "/v1/echo/ws", *headers)
        connection.close()
        assert status in (401, 403), headers
    status, connection = shake_hands(gateway, f"/v1/echo/ws?ticket={ticket(gateway)}")
    assert status == 101
    connection.close()


def test_nothing_but_a_websocket_is_an_upgrade(gateway: "Gateway") -> None:
    headers = {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABkAAQAAP__"}
    seen = json.loads(gateway.ask("GET", "/v1/echo", KEY | headers).content)
    assert not {"upgrade", "connection"} & set(seen["headers"])


def test_another_site_cannot_post_with_a_persons_cookie(gateway: "Gateway") -> None:
    cookie = {"Cookie": gateway.ask("GET", f"/v1/echo?ticket={ticket(gateway)}").headers["Set-Cookie"].partition(";")[0]}
    assert gateway.ask("POST", "/v1/echo", cookie | {"Origin": "http://evil.example"}, b"{}").status == 403
    assert gateway.ask("POST", "/v1/echo", cookie | {"Origin": f"http://127.0.0.1:{gateway.port}"}, b"{}").status == 200


def test_a_browser_gets_a_page_to_sign_in_and_a_program_gets_json(gateway: "Gateway") -> None:
    page = gateway.ask("GET", "/terminal", HTML)
    assert page.status == 401
    assert page.headers["Content-Type"].startswith("text/html")
    assert b"sign-in.js" in page.content
    answer = gateway.ask("GET", "/terminal")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert json.loads(answer.content)["success"] is False


def test_a_page_of_a_preview_asks_for_no_key(gateway: "Gateway") -> None:
    page = gateway.ask("GET", "/", HTML | {"Host": "3000-box.example"})
    assert page.status == 401
    assert b"sign-in.js" not in page.content


def test_the_whole_of_a_large_body_streams_through(gateway: "Gateway") -> None:
    assert gateway.ask("POST", "/v1/echo", KEY, b"{}" + b" " * 8_000_000).status == 200


@pytest.mark.parametrize("uri", ["/v1/echo/../echo", "/v1/%2e%2e/v1/echo", "/v1/echo%0a", "/v1\\..\\echo", "/v1/echo#x"])
def test_even_with_a_key_an_ambiguous_path_is_refused(gateway: "Gateway", uri: str) -> None:
    received = gateway.send(f"GET {uri} HTTP/1.1\r\nHost: x\r\nX-AIO-API-Key: the-key-of-the-tests\r\nConnection: close\r\n\r\n".encode())
    assert b" 400 " in received.partition(b"\r\n")[0]


@pytest.mark.parametrize("uri", ["/v1/echo?path=../x", "/v1/echo?a=%2e%2e%2f", "/v1/..x", "/v1/a...b", "/v1/.hidden"])
def test_dots_that_lead_nowhere_are_no_offence(gateway: "Gateway", uri: str) -> None:
    assert gateway.ask("GET", uri, KEY).status in (200, 404)


def test_a_second_request_on_a_connection_is_asked_about_too(gateway: "Gateway") -> None:
    first = "GET /v1/echo HTTP/1.1\r\nHost: x\r\nX-AIO-API-Key: the-key-of-the-tests\r\n\r\n"
    second = "GET /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    received = gateway.send((first + second).encode())
    assert received.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 401 " in received


def test_no_log_line_holds_a_credential(gateway: "Gateway") -> None:
    value = ticket(gateway)
    gateway.ask("GET", f"/v1/echo?ticket={value}&api_key=the-key-of-the-tests", {"Referer": f"http://x/?ticket={value}"})
    last = gateway.ask("GET", f"/mcp?api_key=the-key-of-the-tests&t={value}", KEY).headers["X-Request-Id"]
    until(lambda: f'"request_id":"{last}","caller"' in gateway.log.read_text())  # a line is written after its answer
    log = gateway.log.read_text()
    assert '"path":"/v1/echo"' in log
    assert '"upstream_status":"502"' in log, "a component that does not answer is named"
    assert value not in log
    assert "the-key-of-the-tests" not in log


def test_a_component_that_is_not_there_is_a_503_to_try_again(gateway: "Gateway") -> None:
    answer = gateway.ask("POST", "/mcp", KEY, b"{}")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert json.loads(answer.content)["success"] is False


def test_while_the_api_is_away_everything_is_a_503_and_then_works(gateway: "Gateway") -> None:
    assert gateway.api
    gateway.api.stop()
    answer = gateway.ask("POST", "/v1/echo", KEY, b"{}")
    page = gateway.ask("GET", "/", HTML)
    gateway.start_api()
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert page.status == 503
    assert b"reloads" in page.content
    assert gateway.ask("POST", "/v1/echo", KEY, b"{}").status == 200


def test_a_request_that_may_have_run_is_never_answered_with_a_5xx(gateway: "Gateway") -> None:
    """A component that takes a POST and dies: clients repeat a 5xx, and would run it twice."""
    path = gateway.folder / "run/sandbox/mcp.sock"
    with socket.socket(socket.AF_UNIX) as component:
        component.bind(str(path))
        component.listen()
        connection = socket.create_connection(("127.0.0.1", gateway.port), 30)
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-AIO-API-Key: the-key-of-the-tests\r\nContent-Length: 2\r\n\r\n{}")
        taken, _ = component.accept()
        assert taken.recv(65536)
        taken.close()
        assert connection.recv(1) == b"", "closed without an answer"
        connection.close()
    path.unlink()


def test_a_killed_gateway_starts_again(gateway: "Gateway") -> None:
    gateway.kill_nginx()
    gateway.start_nginx()
    assert gateway.ask("GET", "/v1/echo", KEY).status == 200


def test_the_gateway_is_one_process_so_that_a_killed_one_leaves_nobody_on_the_port(gateway: "Gateway") -> None:
    assert Path(f"/proc/{gateway.nginx_pid}/task/{gateway.nginx_pid}/children").read_text() == ""
