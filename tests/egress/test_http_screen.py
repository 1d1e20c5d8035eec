import pytest

from sandbox_server.egress.http_screen import HttpScreen
from sandbox_server.egress.spliced_flow import FlowCut

SOCKET = b"GET /ws HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n\r\n"
GET = b"GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n"


def test_requests_are_read_as_long_as_there_are_some() -> None:
    screen = HttpScreen(lambda _: None, lambda _: None)
    assert screen.hear_client(GET) == (GET, True)
    assert not screen.upgrading
    with pytest.raises(FlowCut, match="malformed"):
        screen.hear_client(b"x\r\n\r\n")


def test_a_websocket_is_let_through_by_the_servers_answer() -> None:
    said: list[bytes] = []
    screen = HttpScreen(lambda _: None, said.append)
    assert screen.hear_client(SOCKET + b"early") == (SOCKET, True)
    assert screen.upgrading
    assert screen.hear_server(b"HTTP/1.1 1") == (b"HTTP/1.1 1", True)
    assert screen.hear_server(b"01 X\r\nUpgrade: websocket\r\n\r\n") == (b"01 X\r\nUpgrade: websocket\r\n\r\n", False)
    assert said == [b"early"]
    assert screen.hear_client(b"frame") == (b"frame", False)


def test_what_waited_for_a_websocket_that_is_refused_is_held_against_http() -> None:
    screen = HttpScreen(lambda _: None, lambda _: None)
    screen.hear_client(SOCKET + b"frame\r\n\r\n")
    with pytest.raises(FlowCut):
        screen.hear_server(b"HTTP/1.1 200 OK\r\n")


def test_a_server_that_changes_to_another_protocol_ends_the_flow() -> None:
    said: list[bytes] = []
    screen = HttpScreen(lambda _: None, said.append)
    screen.hear_client(SOCKET + b"PRI * HTTP/2.0")
    with pytest.raises(FlowCut, match="another protocol"):
        screen.hear_server(b"HTTP/1.1 101 X\r\nUpgrade: h2c\r\n\r\n")
    assert said == []
