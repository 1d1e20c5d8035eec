"""The proxy: which hosts it serves, what it makes of requests, and a connection through it."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox_server.drivers.fence.policy import NetworkPolicy
from sandbox_server.drivers.fence.proxy import FenceProxy, RefusedError, Request, allows, parse, usable
from tests.patience import PATIENCE_SECONDS

POLICY = NetworkPolicy(allowed_domains=("github.com", "*.example.com"), denied_domains=("bad.example.com", "*.bad.example.com"))


@pytest.mark.parametrize("host", ["github.com", "GitHub.com", "github.com.", "a.example.com", "a.b.example.com"])
def test_what_is_listed_is_allowed(host: str) -> None:
    assert allows(POLICY, host)


@pytest.mark.parametrize(
    "host", ["gist.github.com", "example.com", "xexample.com", "bad.example.com", "a.bad.example.com", "140.82.121.4", ""]
)
def test_everything_else_is_not(host: str) -> None:
    assert not allows(POLICY, host)


def test_a_name_that_points_at_this_machine_is_not_followed_unless_it_is_its_own() -> None:
    def at(address: str) -> tuple[int, int, int, tuple[object, ...]]:
        return (socket.AF_INET, socket.SOCK_STREAM, 0, (address, 80))

    places = [
        at(address) for address in ("127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "fe80::1%eth0", "::ffff:127.0.0.1", "203.0.113.5")
    ]
    assert usable(places, "example.com", ["example.com"]) == [at("203.0.113.5")]
    assert usable([at("127.0.0.1")], "localhost", ["*.com"]) == []
    assert usable([at("127.0.0.1")], "localhost", ["localhost"]) == [at("127.0.0.1")]


def test_a_tunnel_is_asked_for_by_host_and_port() -> None:
    assert parse(b"CONNECT GitHub.com:22 HTTP/1.1\r\nHost: evil") == Request("github.com", 22, tunnel=True, head=b"")
    assert parse(b"CONNECT [::1]:443 HTTP/1.1").host == "::1"


def test_a_request_goes_on_with_the_host_that_was_checked() -> None:
    head = b"GET http://github.com:81/a?b HTTP/1.1\r\nHOST : evil\r\nX: y\r\nProxy-Authorization: z\r\nConnection: keep-alive\r\n"
    request = parse(head)
    assert (request.host, request.port, request.tunnel) == ("github.com", 81, False)
    assert request.head == b"GET /a?b HTTP/1.1\r\nHost: github.com:81\r\nConnection: close\r\nX: y\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET / HTTP/1.1",
        b"GET ftp://github.com/ HTTP/1.1",
        b"GET https://github.com/ HTTP/1.1",
        b"CONNECT github.com:70000 HTTP/1.1",
        b"CONNECT user@github.com:443 HTTP/1.1",
        b"GET http://github.com/\nHost:evil HTTP/1.1",
        b"GET http://github.com/ HTTP/1.1\r\nX: y\nHost: evil",
        b"\x16\x03\x01",
    ],
)
def test_anything_else_is_refused(head: bytes) -> None:
    with pytest.raises(RefusedError):
        parse(head)


@contextmanager
def serving(policy: NetworkPolicy) -> Iterator[tuple[str, int]]:
    """The address of a proxy that ends with the context."""
    readable, writable = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=FenceProxy(policy).serve, args=(listener, readable))
        thread.start()
        yield listener.getsockname()
        os.write(writable, b"x")
        thread.join(PATIENCE_SECONDS)
    os.close(readable)
    os.close(writable)
    assert not thread.is_alive()


def asked(place: tuple[str, int], request: bytes) -> bytes:
    """All that comes back."""
    with socket.create_connection(place, 10) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(4096), b""))


def test_a_tunnel_carries_bytes_both_ways_and_ends_with_both_sides() -> None:
    def echo(listening: socket.socket) -> None:
        client, _ = listening.accept()
        with client:
            while chunk := client.recv(100):
                client.sendall(chunk.upper())

    with socket.create_server(("127.0.0.1", 0)) as upstream, serving(NetworkPolicy(allowed_domains=("127.0.0.1",))) as place:
        thread = threading.Thread(target=echo, args=(upstream,))
        thread.start()
        port = upstream.getsockname()[1]
        said = asked(place, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\nhello" % port)
        thread.join(PATIENCE_SECONDS)
    assert said == b"HTTP/1.1 200 Connection established\r\n\r\nHELLO"


def test_a_refusal_says_why() -> None:
    with serving(NetworkPolicy(allowed_domains=("localhost",), denied_domains=())) as place:
        assert b"403 Forbidden" in asked(place, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
        assert b"does not allow evil.example" in asked(place, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
        assert b"400 Bad Request" in asked(place, b"GET / HTTP/1.1\r\n\r\n")
        assert b"502 Bad Gateway" in asked(place, b"CONNECT localhost:1 HTTP/1.1\r\n\r\n")
