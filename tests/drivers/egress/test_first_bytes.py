import pytest

from sandbox_server.drivers.egress.first_bytes import MAX_LINE, FirstBytes
from sandbox_server.drivers.egress.policy import AppProtocol
from tests.client_hellos import extension, hello, name_extension, real, records

REQUEST = b"GET /x HTTP/1.1\r\nHost: %s\r\n\r\n"


def fed(*pieces: bytes) -> FirstBytes:
    first = FirstBytes()
    for piece in pieces:
        known = first.feed(piece)
    assert known
    return first


def mismatch(first: FirstBytes, name: str = "a.example", ech_allowed: bool = False) -> str:
    return first.mismatch(name, ech_allowed=ech_allowed)


@pytest.mark.parametrize(
    ("sent", "protocol"),
    [
        (REQUEST % b"a.example", AppProtocol.HTTP),
        (b"\r\n\r\n" + REQUEST % b"a.example", AppProtocol.HTTP),
        (real("a.example"), AppProtocol.TLS),
        (b"SSH-2.0-OpenSSH_9.7\r\n", AppProtocol.TCP),
        (b"\0\0\0\x08\x04\xd2\x16\x2f", AppProtocol.TCP),
        (b"EHLO a.example\r\n", AppProtocol.TCP),
        (b"*1\r\n$4\r\nPING\r\n", AppProtocol.TCP),
        (b"\x16\x02\x01", AppProtocol.TCP),
    ],
)
def test_protocols_are_told_by_their_first_bytes_in_any_pieces(sent: bytes, protocol: AppProtocol) -> None:
    whole = fed(sent)
    first = FirstBytes()
    for one in sent:
        if first.feed(bytes([one])):
            break
    for found in (whole, first):
        assert found.protocol is protocol
        assert mismatch(found) == ""
    assert bytes(whole.received) == sent


@pytest.mark.parametrize(
    "sent", [b"", b"\r\n", b"\x16", b"GET", b"GET /x HTTP/1.1\r", b"SSH-2.0", b"GET / HTTP/1.1\r\nHost: a", real("a")[:50]]
)
def test_what_may_become_something_is_waited_for(sent: bytes) -> None:
    assert not FirstBytes().feed(sent)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (REQUEST % b"evil.example", "'evil.example' on a connection to a.example"),
        (REQUEST % b"127.0.0.1", "'127.0.0.1'"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "evil.example"),
        (b"\r\n" * 10 + REQUEST % b"evil.example", "evil.example"),
        (b"get / http/1.1\r\nhost: a.example\r\n\r\n", "not supported"),
        (b"GET / HTTP/1.1\nHost: evil.example\n\n\r\n\r\n", "malformed|CR LF|line"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2.0 is not supported"),
        (real("evil.example"), "TLS asks for 'evil.example'"),
        (real(None), "names no server"),
        (records(hello(name_extension(b"a.example", b"evil.example"))), "names no server, or two"),
        (records(hello(name_extension(b"a.example") + extension(0xFE0D, b"x"))), "ECH"),
    ],
)
def test_who_asks_for_another_server_is_found_out(sent: bytes, said: str) -> None:
    found = mismatch(fed(sent))
    assert any(part in found for part in said.split("|")), found


def test_a_hidden_name_is_accepted_where_the_policy_says_so() -> None:
    sent = records(hello(name_extension(b"a.example") + extension(0xFE0D, b"x")))
    assert mismatch(fed(sent), ech_allowed=True) == ""
    assert "evil" in mismatch(fed(records(hello(name_extension(b"evil") + extension(0xFE0D, b"x")))), ech_allowed=True)


@pytest.mark.parametrize("sent", [b"A" * (MAX_LINE + 1), b"\r\n" * MAX_LINE, b"GET /" + b"x" * MAX_LINE])
def test_what_puts_off_what_it_is_for_too_long_is_a_problem(sent: bytes) -> None:
    assert mismatch(fed(sent))


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1", b"\x16\3\1", b"GET / HTTP/1.1\r\nHost: a.example\r\n", b"\r\n"])
def test_what_does_not_come_in_time_is_a_problem(sent: bytes) -> None:
    first = FirstBytes()
    assert not first.feed(sent)
    first.give_up()
    assert "in time" in mismatch(first)


@pytest.mark.parametrize(
    ("sent", "problem"), [(b"\r\n", ""), (b"G", ""), (b"\x16", ""), (b"GET / HTTP/1.1\r\nHost", "the first message has no end")]
)
def test_what_has_no_end_is_no_message(sent: bytes, problem: str) -> None:
    first = FirstBytes()
    assert not first.feed(sent)
    first.end()
    assert (first.problem, first.protocol) == (problem, AppProtocol.HTTP if problem else AppProtocol.TCP)


def test_a_client_that_says_nothing_may_wait_for_its_server() -> None:
    first = FirstBytes()
    first.give_up()
    assert (first.protocol, mismatch(first)) == (AppProtocol.TCP, "")
