import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.http_head import MAX_HEAD, MalformedHead, RequestHead
from sandbox_server.drivers.egress.http_requests import RequestStream, UpgradeAnswer
from tests.tables import table_test

GET = b"GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n"
SIZED = b"POST /2 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 38\r\n\r\n" + b"GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n"[:38]
CHUNKED = b"POST /3 HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\nA\r\n0123456789\r\n0\r\n\r\n"
SOCKET = b"GET /ws HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


class Judged:
    """A stream whose heads are kept."""

    def __init__(self) -> None:
        self.heads: list[RequestHead] = []
        self.stream = RequestStream(self.heads.append)

    @property
    def targets(self) -> list[str]:
        """What was asked for."""
        return [head.target for head in self.heads]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_every_head_is_judged_and_every_byte_passes(piece: int) -> None:
    sent, judged = GET + SIZED + CHUNKED + b"\r\n" + GET, Judged()
    passed = b"".join(judged.stream.feed(sent[first : first + piece]) for first in range(0, len(sent), piece))
    assert passed == sent
    assert judged.targets == ["/1", "/2", "/3", "/1"]


def test_a_head_is_not_sent_on_before_it_is_judged() -> None:
    class RefusedError(Exception):
        pass

    def judge(head: RequestHead) -> None:
        if head.hosts != ("a.example",):
            raise RefusedError

    stream = RequestStream(judge)
    assert stream.feed(GET + b"GET / ") == GET
    with pytest.raises(RefusedError):
        stream.feed(b"HTTP/1.1\r\nHost: evil.example\r\n\r\n")


@table_test(
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 5, 5",
        "Content-Length: 0x5",
        "Content-Length:",
        "Content-Length: 9999999999999999",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: xchunked",
        "Upgrade: websocket\r\nContent-Length: 5",
    ]
)
def test_a_body_of_which_servers_may_see_different_ends_is_refused(fields: str) -> None:
    with pytest.raises(MalformedHead):
        Judged().stream.feed(b"POST / HTTP/1.1\r\nHost: a.example\r\n" + fields.encode() + b"\r\n\r\n")


@pytest.mark.parametrize(
    "body",
    [
        b"\r\n",
        b"x\r\n",
        b"5;ext=1\r\nhello\r\n",
        b" 5\r\nhello\r\n",
        b"5 \r\n",
        b"-1\r\n",
        b"5\r\nhelloX\r\n",
        b"0\r\nTrailer: x\r\n\r\n",
        b"0" * 500,
    ],
)
def test_a_chunk_that_servers_may_read_differently_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedHead):
        Judged().stream.feed(b"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n" + body)


@pytest.mark.parametrize("sent", [b"x" * (MAX_HEAD + 1), GET + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", GET + b"\x16\3\1\0\0\r\n\r\n"])
def test_what_is_no_request_is_refused(sent: bytes) -> None:
    with pytest.raises(MalformedHead):
        Judged().stream.feed(sent)


def test_a_websocket_waits_for_its_server() -> None:
    judged = Judged()
    assert judged.stream.feed(SOCKET + b"frame") == SOCKET
    assert judged.stream.upgrading
    assert judged.stream.feed(b"s") == b""
    assert judged.stream.agree() == b"frames"
    assert judged.stream.feed(b"\x81\x05hello") == b"\x81\x05hello"
    assert judged.stream.opaque


def test_a_websocket_that_is_refused_goes_on_as_requests() -> None:
    judged = Judged()
    judged.stream.feed(SOCKET)
    assert judged.stream.feed(GET) == b""
    assert judged.targets == ["/ws"]
    assert judged.stream.refuse_upgrade() == GET
    assert judged.targets == ["/ws", "/1"]


def test_a_websocket_is_the_first_request_and_does_not_wait_with_much() -> None:
    with pytest.raises(MalformedHead):
        Judged().stream.feed(GET + SOCKET)
    judged = Judged()
    judged.stream.feed(SOCKET)
    with pytest.raises(MalformedHead):
        judged.stream.feed(b"x" * (MAX_HEAD + 1))


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nUPGRADE: WebSocket\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\n", False),
        (b"nonsense\r\n", False),
        (b"x" * 1000, False),
        (b"\r\n", False),
    ],
)
def test_a_servers_answer_to_a_websocket_is_read(answer: bytes, agreed: bool) -> None:
    assert UpgradeAnswer().feed(answer) is agreed
    pieces = UpgradeAnswer()
    found = [pieces.feed(bytes([one])) for one in answer]
    assert next(each for each in found if each is not None) is agreed


@given(
    st.lists(st.sampled_from([GET, SIZED, CHUNKED, b"\r\n", b"5\r\n", b"0\r\n\r\n", b"x", b"GET / HTTP/1.1\r\n"]), max_size=6),
    st.integers(1, 40),
)
def test_no_bytes_raise_anything_else_and_none_is_made_up(parts: list[bytes], piece: int) -> None:
    sent, judged, passed = b"".join(parts), Judged(), b""
    try:
        for first in range(0, len(sent), piece):
            passed += judged.stream.feed(sent[first : first + piece])
    except MalformedHead:
        pass
    assert sent.startswith(passed)


@table_test([b"", b"Upgrade: h2c\r\n", b"Upgrade: websocket, h2c\r\n", b"Upgrade: websocket\r\nUpgrade: h2c\r\n", b"X: y" * MAX_HEAD])
def test_a_server_changes_to_no_other_protocol(fields: bytes) -> None:
    with pytest.raises(MalformedHead, match="another protocol"):
        UpgradeAnswer().feed(b"HTTP/1.1 101 Switching Protocols\r\n" + fields + b"\r\n")
