import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.http_head import MAX_HEAD, HeadReader, MalformedHead, RequestHead, is_http, may_become_http
from tests.tables import table_test


def read(text: str) -> RequestHead | None:
    return HeadReader().feed(text.encode("latin-1"))


@pytest.mark.parametrize(
    ("text", "method", "hosts"),
    [
        ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET", ("a.example",)),
        ("POST /x HTTP/1.0\r\nhOST:a.example:80 \r\nX: y\r\n\r\nbody\r\n\r\n", "POST", ("a.example",)),
        ("OPTIONS * HTTP/1.1\r\nHost: a.example:\r\n\r\n", "OPTIONS", ("a.example",)),
        ("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET", ("[::1]",)),
        ("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", "GET", ("[::1]",)),
        ("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET", ("a.example",)),
        ("GET http://b.example?q HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET", ("a.example", "b.example")),
        ("CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", "CONNECT", ("a.example", "b.example")),
    ],
)
def test_a_head_says_which_hosts_it_asks_for(text: str, method: str, hosts: tuple[str, ...]) -> None:
    found = read(text)
    assert found
    assert (found.method, found.hosts) == (method, hosts)


def test_the_pieces_in_which_it_comes_do_not_matter() -> None:
    text, reader = b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", HeadReader()
    found = [reader.feed(bytes([one])) for one in text]
    assert found[-1] == RequestHead("GET", "/x", ("a.example",))
    assert not any(found[:-1])


@table_test(
    [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\r\n Host: b\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\nHost: b\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nX: y\rHost: b\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x@a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET http://x@b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET a.example HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        " / HTTP/1.1\r\nHost: a\r\n\r\n",
    ]
)
def test_what_two_servers_read_differently_is_malformed(text: str) -> None:
    with pytest.raises(MalformedHead):
        read(text)


def test_it_is_bounded() -> None:
    reader = HeadReader()
    line = b"X: y\r\n"
    assert not any(reader.feed(line) for _ in range(MAX_HEAD // len(line)))
    with pytest.raises(MalformedHead, match=str(MAX_HEAD)):
        reader.feed(line)


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r", b"get / http/1.0", b"X HTTP/9"])
def test_a_line_that_some_server_takes_for_http_is_http(line: bytes) -> None:
    assert is_http(line)


def test_lines_of_other_protocols_are_not() -> None:
    assert not is_http(b"SSH-2.0-OpenSSH_9.7\r")
    assert not is_http(b"EHLO a.example")
    assert may_become_http(b"GET /")
    assert may_become_http(b"SSH-2.0")
    assert may_become_http(b"GET / HTTP/1.1\r")
    assert not may_become_http(b"\0\0\0\x08")
    assert not may_become_http(b"0032git-upload-pack /project.git\0host=a.example\0")


@given(st.text(" \r\n:/@\0aHostGET.HTTP/1", max_size=200), st.integers(1, 50))
def test_no_bytes_raise_anything_else(text: str, piece: int) -> None:
    for candidate in (text, f"GET / HTTP/1.1\r\n{text}\r\n\r\n", f"GET {text} HTTP/1.1\r\nHost: a\r\n\r\n"):
        reader, received = HeadReader(), candidate.encode()
        try:
            for first in range(0, len(received), piece):
                reader.feed(received[first : first + piece])
        except MalformedHead:
            pass


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/x?y=/z", "/x?y=/z"),
        ("http://a/x?y", "/x?y"),
        ("http://a", "/"),
        ("http://a?q=x&y=/public", "/?q=x&y=/public"),
        ("http://a:80?q", "/?q"),
        ("*", ""),
    ],
)
def test_a_path_is_what_stands_behind_the_authority(target: str, path: str) -> None:
    found = read(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
    assert found
    assert found.path == path


@pytest.mark.parametrize(
    ("version", "fields", "why"),
    [
        ("1.1", "Upgrade: websocket, h2c", "other protocols"),
        ("1.1", "Upgrade: h2c, websocket", "other protocols"),
        ("1.1", "Upgrade: websocket\r\nUpgrade: h2c", "other protocols"),
        ("1.1", "Upgrade: websocket/13", "other protocols"),
        ("1.1", "Upgrade: websocket\r\nUpgrade: websocket", "other protocols"),
        ("1.0", "Upgrade: websocket", "HTTP/1.0"),
        ("1.0", "Transfer-Encoding: chunked", "HTTP/1.0"),
        ("1.1", "Connection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked", "transfer-encoding"),
        ("1.1", "Connection: content-length\r\nContent-Length: 5", "content-length"),
        ("1.1", "Connection: Host", "host"),
    ],
)
def test_what_leaves_a_server_the_choice_is_malformed(version: str, fields: str, why: str) -> None:
    with pytest.raises(MalformedHead, match=why):
        read(f"GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n\r\n")


@pytest.mark.parametrize(
    ("fields", "websocket"),
    [("Upgrade: WebSocket", True), ("Upgrade: h2c", False), ("Upgrade: x-websocket", False), ("X: websocket", False)],
)
def test_a_websocket_is_asked_for_by_its_name_alone(fields: str, websocket: bool) -> None:
    found = read(f"GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n")
    assert found
    assert found.websocket is websocket


def test_fields_that_name_another_method_or_path_are_known() -> None:
    found = read("POST / HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: DELETE\r\nX-Original-URL: /admin\r\nAccept: x\r\n\r\n")
    assert found
    assert found.overrides == ("x-http-method-override", "x-original-url")
