"""Requests and names in forms that servers, resolvers and the policy might read differently: by root and by the agent's user."""

import ipaddress
from collections.abc import Iterator

import pytest

from tests.image.egress_peers import EgressHosts
from tests.image.test_egress import USERS, python, read_page


@pytest.fixture
def silent(egress_hosts: EgressHosts) -> Iterator[EgressHosts]:
    """The hosts, of which the witness hears nothing during the test, and the other nothing for a host that is denied."""
    egress_hosts.witness.forget()
    egress_hosts.peer.forget()
    yield egress_hosts
    assert egress_hosts.witness.heard() == []
    assert not [said for said in egress_hosts.peer.heard() if "evil.example" in said or "smuggled" in said]


SAY = """
sock = socket.create_connection(("allowed.example", 80), 30)
sock.settimeout(20)
sock.sendall({said!r})
answer = b""
while received := sock.recv(4000):
    answer += received
if b"served by" not in answer:
    raise OSError(answer[:200])
"""
ALLOWED = "Host: allowed.example\r\n"
SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"


def say(said: str) -> str:
    """Send bytes on a connection to a host that is allowed, and hear them answered."""
    return python(SAY.format(said=said.encode("latin-1")))


@USERS
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(f"POST / HTTP/1.1\r\n{ALLOWED}Content-Length: 4\r\n{CHUNKED}\r\n0\r\n\r\n{SMUGGLED}", id="CL and TE"),
        pytest.param(f"POST / HTTP/1.1\r\n{ALLOWED}Content-Length: 0\r\nContent-Length: 60\r\n\r\n{SMUGGLED}", id="CL and CL"),
        pytest.param(f"POST / HTTP/1.1\r\n{ALLOWED}{CHUNKED}{CHUNKED}\r\n0\r\n\r\n{SMUGGLED}", id="TE and TE"),
        pytest.param(f"POST / HTTP/1.1\r\n{ALLOWED}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{SMUGGLED}", id="a space before the colon"),
        pytest.param(f"POST / HTTP/1.1\r\n{ALLOWED}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{SMUGGLED}", id="a control character"),
        pytest.param(f"POST / HTTP/1.1\r\n{ALLOWED}{CHUNKED}\r\n0;x=\n\r\n\r\n{SMUGGLED}", id="an extension of a chunk"),
        pytest.param(f"GET / HTTP/1.1\r\n{ALLOWED}X: y\r\n Host: evil.example\r\n\r\n", id="a folded line"),
        pytest.param("GET / HTTP/1.1\r\n Host: evil.example\r\nHost: allowed.example\r\n\r\n", id="a folded first line"),
        pytest.param(f"GET / HTTP/1.1\r\n{ALLOWED}Host: evil.example\r\n\r\n", id="two hosts"),
        pytest.param(f"GET / HTTP/1.1\r\n{ALLOWED}host:evil.example\r\n\r\n", id="two hosts in other letters"),
        pytest.param(f"GET / HTTP/1.1\n{ALLOWED}\n{SMUGGLED}", id="line feeds alone"),
        pytest.param(f"GET / HTTP/1.1\r\nX: a\rHost: evil.example\r\n{ALLOWED}\r\n", id="a carriage return alone"),
        pytest.param(f"GET http://evil.example/smuggled HTTP/1.1\r\n{ALLOWED}\r\n", id="absolute form"),
        pytest.param(f"GET http://allowed.example@evil.example/ HTTP/1.1\r\n{ALLOWED}\r\n", id="absolute form with a user"),
        pytest.param(f"GET HTTPS://EVIL.example:80/ HTTP/1.1\r\n{ALLOWED}\r\n", id="absolute form in capitals"),
        pytest.param(f"CONNECT evil.example:443 HTTP/1.1\r\n{ALLOWED}\r\n", id="CONNECT"),
        pytest.param(f"CONNECT allowed.example:80 HTTP/1.1\r\n{ALLOWED}\r\n{SMUGGLED}", id="CONNECT to itself"),
        pytest.param(
            f"GET / HTTP/1.1\r\n{ALLOWED}Connection: keep-alive\r\n\r\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n", id="CONNECT later"
        ),
        pytest.param(f"GET / HTTP/1.1\r\n{ALLOWED}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n{SMUGGLED}", id="an upgrade"),
        pytest.param("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0", id="HTTP/2"),
        pytest.param("GET /smuggled\r\n", id="HTTP/0.9"),
        pytest.param("GET /smuggled HTTP/1.0\r\nHost: evil.example\r\n\r\n", id="HTTP/1.0"),
        pytest.param("GET /smuggled HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param("GET /smuggled HTTP/1.1\r\nHost:\r\n\r\n", id="an empty host"),
        pytest.param("GET /smuggled HTTP/1.1\r\nHost: allowed.example, evil.example\r\n\r\n", id="a list of hosts"),
        pytest.param("GET /smuggled HTTP/1.1\r\nHost: allowed.example\0.evil.example\r\n\r\n", id="a zero in the host"),
        pytest.param("\r\n" * 3 + "GET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n", id="empty lines first"),
    ],
)
def test_no_form_of_a_request_is_for_another_host(silent: EgressHosts, user: str, said: str) -> None:
    answer = silent.run(say(said), user)
    assert "refused" in answer or "WENT THROUGH" in answer, answer
    heard = silent.peer.heard()
    assert not [line for line in heard if line.startswith("CONNECT")], (answer, heard)


@USERS
@pytest.mark.parametrize("host", ["ALLOWED.example", "allowed.example.", "Allowed.Example:80", "allowed.example.:80"])
def test_a_name_is_the_same_in_each_of_its_forms(silent: EgressHosts, user: str, host: str) -> None:
    assert silent.run(f"curl -sS -m 20 http://{host}/", user) == "served by peer"
    given = say(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert "WENT THROUGH" in silent.run(given, user)


def forms(address: str) -> dict[str, str]:
    """How the host of a URL may be an IPv4 address, by resolvers' rules."""
    number, parts = int(ipaddress.IPv4Address(address)), address.split(".")
    return {
        "decimal": str(number),
        "hexadecimal": hex(number),
        "octal": ".".join(f"0{int(part):o}" for part in parts),
        "two parts": f"{parts[0]}.{number & 0xFFFFFF}",
        "a dot at the end": f"{address}.",
        "mapped": f"[::ffff:{address}]",
        "mapped in hexadecimal": f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
        "compatible": f"[::{address}]",
        "NAT64": f"[64:ff9b::{address}]",
        "6to4": f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
        "full width": address.replace(".", "\u3002"),
    }


@USERS
@pytest.mark.parametrize("form", forms("192.0.2.1"))
@pytest.mark.parametrize("place", ["witness", "169.254.169.254"])
def test_an_address_is_the_same_in_each_of_its_forms(silent: EgressHosts, user: str, form: str, place: str) -> None:
    host = forms(silent.witness.address if place == "witness" else place)[form]
    said = silent.run(f"curl -gsS -m 20 'http://{host}/latest/' -w ' %{{http_code}}'", user)
    assert "not allowed" in said or "Could not resolve" in said or said.endswith(" 000"), said
    assert "served by" not in said


NAMES = [
    "EVIL.example",
    "evil.example.",
    "\uff45vil.example",
    "allowed.example.evil.example",
    "xn--evil.example",
    "evil\u3002example",
    "a_b.evil.example",
]


@USERS
@pytest.mark.parametrize("host", NAMES)
def test_a_denied_name_is_denied_in_each_of_its_forms(silent: EgressHosts, user: str, host: str) -> None:
    said = silent.run(f"curl -sS -m 20 'http://{host}/'", user)
    assert "is not allowed (default)" in said or "Could not resolve" in said or "Bad hostname" in said or "URL rejected" in said, said


@USERS
def test_a_name_that_does_not_exist_is_told_apart_from_one_that_is_denied(silent: EgressHosts, user: str) -> None:
    """Every name has an address in the box: nobody outside is asked before a connection is allowed."""
    assert silent.run("getent hosts none.allowed.example", user).startswith("198.1")
    said = silent.run("curl -sS -m 20 http://none.allowed.example/ -w ' %{http_code}'", user)
    assert "none.allowed.example" in said, said
    assert said.endswith(" 502"), said
    assert "is not allowed (default)" in silent.run("curl -sS -m 20 http://none.evil.example/", user)
    assert "none.allowed.example has no address" in read_page(silent.sandbox, "http://none.allowed.example/")
