"""Ways around the network policy that look like what is allowed, or go by what no rule knows: by root and by the agent's user."""

from collections.abc import Iterator

import pytest

from tests.image.egress_peers import EgressHosts
from tests.image.test_egress import USERS, connect, python, send
from tests.patience import until


@pytest.fixture
def silent(egress_hosts: EgressHosts) -> Iterator[EgressHosts]:
    """The hosts, of which the witness hears nothing during the test, and the other nothing for a host that is denied."""
    egress_hosts.witness.forget()
    egress_hosts.peer.forget()
    yield egress_hosts
    assert egress_hosts.witness.heard() == []
    assert not [said for said in egress_hosts.peer.heard() if "evil.example" in said]


HELLO = """
import ssl
received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
context = ssl._create_unverified_context()
try:
    context.wrap_bio(received, sent, server_hostname={name!r}).do_handshake()
except ssl.SSLWantReadError:
    hello = bytearray(sent.read()[9:])
at = 35 + hello[34]
at += 2 + int.from_bytes(hello[at : at + 2])
at += 1 + hello[at]
more = bytes.fromhex({extension!r})
hello[at : at + 2] = (int.from_bytes(hello[at : at + 2]) + len(more)).to_bytes(2)
hello += more
sock = socket.create_connection(("tls.example", 443), 30)
sock.sendall(b"\\x16\\3\\1" + (len(hello) + 4).to_bytes(2) + b"\\1" + len(hello).to_bytes(3) + hello)
if (said := sock.recv(100))[:1] != b"\\x16":
    raise OSError(said.hex())
"""
"""A ClientHello by hand, to which the server answers with its own (0x16) or not."""
ECH = "fe0d0008" + "00" * 8
ACCESS_DENIED = "15030300020231"


def hello(name: str | None = "tls.example", extension: str = "") -> str:
    """A ClientHello to a host that is allowed, which names that or another one, with one more extension."""
    return python(HELLO.format(name=name, extension=extension))


@USERS
def test_a_client_hello_passes_only_if_it_shows_the_name_that_was_asked_for(silent: EgressHosts, user: str) -> None:
    assert "WENT THROUGH" in silent.run(hello(), user)
    assert "WENT THROUGH" in silent.run(hello(extension="fafa0000"), user)
    for attempt in (hello(extension=ECH), hello(None), hello("allowed.example"), hello("evil.example"), hello("TLS.EXAMPLE.evil.example")):
        assert ACCESS_DENIED in (said := silent.run(attempt, user)), said


REQUESTS = """
sock = socket.create_connection(("allowed.example", 80), 30)
first, second = (f"GET / HTTP/1.1\\r\\nHost: {{host}}\\r\\n\\r\\n".encode() for host in ("allowed.example", {second!r}))
if {pipelined}:
    sock.sendall(first + second)
else:
    sock.sendall(first)
said = b""
while said.count(b"served by") < 2:
    received = sock.recv(4000)
    said += received
    if not {pipelined} and not said.count(b"served by") > 1 and b"served by" in received:
        sock.sendall(second)
    if not received:
        raise OSError(said.count(b"served by"))
"""


@USERS
@pytest.mark.parametrize("pipelined", [False, True])
def test_each_request_of_a_connection_is_held_against_its_name(silent: EgressHosts, user: str, pipelined: bool) -> None:
    def ask(second: str) -> str:
        return silent.run(python(REQUESTS.format(second=second, pipelined=pipelined)), user)

    assert "WENT THROUGH" in (said := ask("allowed.example")), said
    assert "WENT THROUGH" not in (said := ask("evil.example")), said


SYSTEM_CALL = """
import ctypes, platform
number = {{"x86_64": {x86}, "aarch64": {arm}}}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(number, {given}, ctypes.create_string_buffer(256), 256) < 0:
    raise OSError(ctypes.get_errno(), "a system call")
"""
FLUSH_TRACKING = """
sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
sock.bind((0, 0))
sock.send(struct.pack("=IHHIIBBH", 20, 0x102, 5, 1, 0, 2, 0, 0))
code = struct.unpack("=i", sock.recv(4000)[16:20])[0]
if code:
    raise OSError(-code, "tracked connections")
"""
"""Deletes what the kernel knows of tracked connections (IPCTNL_MSG_CT_DELETE)."""


@USERS
@pytest.mark.parametrize(
    ("attempt", "refusal"),
    [
        pytest.param("curl -gsS -m 20 http://[2001:db8::1]/", "not allowed", id="IPv6 address"),
        pytest.param(connect("2001:db8::1", family="socket.AF_INET6"), "refused", id="IPv6 by hand"),
        pytest.param(
            python("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 443))"), "refused", id="IPv6 UDP"
        ),
        pytest.param(
            python("socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58).sendto(b'x', ('2001:db8::1', 0))"), "refused", id="raw IPv6"
        ),
        pytest.param(python("socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).connect(('{witness}', 80))"), "refused", id="SCTP"),
        pytest.param(
            python("socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136).sendto(b'x', ('{witness}', 80))"), "refused", id="UDP-Lite"
        ),
        pytest.param(send("255.255.255.255", 67), "refused", id="broadcast"),
        pytest.param("curl -skS -m 20 https://1.1.1.1/dns-query?name=evil.example", "access denied", id="DoH by address"),
        pytest.param("curl -skS -m 20 --doh-url https://dns.google/dns-query http://evil.example/", "resolve", id="DoH by name"),
        pytest.param("curl -skS -m 20 https://1.1.1.1:853/", "access denied", id="DoT"),
        pytest.param(connect("tls.example", 443), "refused", id="clear text on the port of TLS"),
        pytest.param("curl -sS -m 20 --resolve allowed.example:80:1.2.3.4 http://allowed.example/", "not allowed", id="resolved by hand"),
        pytest.param("curl -sSL -m 20 http://allowed.example/redirect/{witness}/", "not allowed (protected)", id="redirect"),
        pytest.param("curl -sSL -m 20 http://allowed.example/redirect/169.254.169.254/latest/", "not allowed", id="redirect to metadata"),
        pytest.param("curl -sSL -m 20 http://allowed.example/redirect/127.0.0.1:15001/", "not allowed", id="redirect to the listener"),
        pytest.param("curl -sS -m 20 --proxy http://allowed.example:80 http://evil.example/", "evil.example", id="as its proxy"),
        pytest.param("curl -sS -m 20 --proxytunnel --proxy http://allowed.example:80 http://evil.example/", "403", id="as its tunnel"),
        pytest.param(connect("127.0.0.1", 15001), "refused", id="the listener"),
        pytest.param(connect("127.0.0.1", 15053), "refused", id="the listener of DNS"),
        pytest.param(
            python("sock = socket.socket(); sock.setsockopt(1, 15, 1); sock.bind(('0.0.0.0', 15001)); sock.listen()"),
            "Address already in use",
            id="the listener's port",
        ),
        pytest.param(python("socket.socket(socket.AF_UNIX).connect('/run/sandbox-egress/control.sock')"), "refused", id="control socket"),
        pytest.param(python("socket.socket(socket.AF_UNIX).connect('/run/sandbox/box.sock')"), "refused", id="daemon's socket"),
        pytest.param(python(FLUSH_TRACKING), "refused [Errno 1]", id="tracked connections"),
        pytest.param(python(SYSTEM_CALL.format(x86=425, arm=425, given=8)), "refused", id="io_uring"),
        pytest.param(python(SYSTEM_CALL.format(x86=321, arm=280, given=5)), "refused", id="bpf"),
    ],
)
def test_nothing_like_what_is_allowed_leads_elsewhere(silent: EgressHosts, user: str, attempt: str, refusal: str) -> None:
    silent.expect_refusal(attempt.replace("{witness}", silent.witness.address), user, refusal)


def test_what_is_refused_without_a_connection_is_listed_too(silent: EgressHosts) -> None:
    """Packets are read from a log of limited rate, so one that is not in it is sent again."""
    place = {"host": silent.witness.address, "action": "deny", "limit": 1}
    found: list[dict[str, object]] = []

    def listed() -> bool:
        silent.run(send(silent.witness.address, 4433))
        found[:] = silent.sandbox.request("GET", "/v1/egress/connections", params=place).json()["data"]
        return bool(found and found[0]["port"] == 4433)

    until(listed, told=lambda: str(found))
    assert (found[0]["rule"], found[0]["protocol"], found[0]["uid"]) == ("packets", "udp", 0)


def test_the_loopback_of_the_box_is_its_own(silent: EgressHosts) -> None:
    assert "1 received" in silent.run("ping -c1 -W5 127.0.0.1", "gem")
