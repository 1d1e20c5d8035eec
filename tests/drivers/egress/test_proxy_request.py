import pytest

from sandbox_server.drivers.egress import proxy_request
from sandbox_server.drivers.egress.proxy_request import CONNECTED, MalformedProxyRequest, MalformedSocksRequest, read_http, read_socks
from tests.tables import table_test


@pytest.mark.parametrize(
    ("target", "destination"),
    [
        (b"a.example:443", "a.example:443"),
        (b"A.Example.:443", "a.example:443"),
        (b"10.0.0.1:22", "10.0.0.1:22"),
        (b"[::1]:8080", "[::1]:8080"),
    ],
)
def test_a_tunnel_leads_to_the_host_and_port_that_it_names(target: bytes, destination: str) -> None:
    request = read_http(b"CONNECT %s HTTP/1.0\r\n\r\n" % target)
    assert (str(request.destination), request.accepted, request.first) == (destination, CONNECTED, b"")


def test_a_request_in_absolute_form_is_rewritten_as_its_server_reads_it() -> None:
    head = (
        b"GET http://a.example:8000/x?y=1 HTTP/1.1\r\nHost: other.example\r\nProxy-Connection: keep-alive\r\n"
        b"Proxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\nAccept: */*\r\n\r\n"
    )
    request = read_http(head)
    assert str(request.destination) == "a.example:8000"
    assert request.first == b"GET /x?y=1 HTTP/1.1\r\nHost: a.example:8000\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    assert request.accepted == b""


def test_a_request_for_a_websocket_stays_one() -> None:
    request = read_http(b"GET http://a.example/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert request.first.endswith(b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")


@pytest.mark.parametrize(("target", "path"), [(b"http://a.example", b"/"), (b"http://a.example?q", b"/?q"), (b"HTTP://a.example/#", b"/#")])
def test_a_target_without_a_path_asks_for_the_root(target: bytes, path: bytes) -> None:
    assert read_http(b"GET %s HTTP/1.1\r\n\r\n" % target).first.startswith(b"GET %s HTTP/1.1\r\n" % path)


@table_test(
    [
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET https://a.example/ HTTP/1.1\r\n\r\n",
        b"GET http://user@a.example/ HTTP/1.1\r\n\r\n",
        b"GET http:///x HTTP/1.1\r\n\r\n",
        b"GET http://a.example/ HTTP/2\r\n\r\n",
        b"GET http://a.example/\r\n\r\n",
        b"CONNECT a.example HTTP/1.1\r\n\r\n",
        b"CONNECT a.example:0 HTTP/1.1\r\n\r\n",
        b"CONNECT a.example:65536 HTTP/1.1\r\n\r\n",
        b"CONNECT a.example:4_3 HTTP/1.1\r\n\r\n",
        b"CONNECT 127.1:80 HTTP/1.1\r\n\r\n",
        b"CONNECT 2130706433:80 HTTP/1.1\r\n\r\n",
        b"CONNECT ::1:80 HTTP/1.1\r\n\r\n",
        b"CONNECT \xc3\xa9.example:80 HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
    ]
)
def test_what_names_no_destination_clearly_is_malformed(head: bytes) -> None:
    with pytest.raises(MalformedProxyRequest):
        read_http(head)


def test_socks_names_hosts_and_addresses() -> None:
    assert str(read_socks(1, 3, b"a.example", 22).destination) == "a.example:22"
    assert str(read_socks(1, 3, b"10.0.0.1", 22).destination) == "10.0.0.1:22"
    assert str(read_socks(1, 1, bytes([10, 0, 0, 1]), 22).destination) == "10.0.0.1:22"
    assert str(read_socks(1, 4, bytes(15) + b"\1", 22).destination) == "[::1]:22"
    assert read_socks(1, 3, b"a.example", 22).accepted == proxy_request.socks_reply(0)


@pytest.mark.parametrize(
    ("command", "kind", "host", "port", "reply"),
    [(3, 3, b"a.example", 53, 7), (2, 3, b"a.example", 53, 7), (1, 3, b"", 22, 1), (1, 3, b"127.1", 22, 1), (1, 1, bytes(4), 0, 1)],
)
def test_socks_answers_with_the_reason_of_a_refusal(command: int, kind: int, host: bytes, port: int, reply: int) -> None:
    with pytest.raises(MalformedSocksRequest) as refused:
        read_socks(command, kind, host, port)
    assert refused.value.answer == proxy_request.socks_reply(reply)


def test_socks_knows_three_kinds_of_addresses() -> None:
    assert [proxy_request.socks_length(kind, 9) for kind in (1, 3, 4)] == [4, 10, 16]
    with pytest.raises(MalformedSocksRequest):
        proxy_request.socks_length(2, 9)
