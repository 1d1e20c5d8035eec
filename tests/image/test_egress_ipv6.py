"""The network policy where the container has IPv6: by name, by address, and to a host that has no other address."""

import json
import os
import zlib
from collections.abc import Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import engine
from tests.image.egress_peers import POLICY_FILE, EgressHosts, Peer
from tests.image.test_egress import USERS, connect, python
from tests.patience import until


@pytest.fixture(scope="module")
def hosts() -> Iterator[EgressHosts]:
    """A sandbox with a network that has IPv6, and rules that name IPv6 addresses alone."""
    launcher = new_launcher("egress-v6")
    number = zlib.crc32(os.environ["TANDEM_RUN"].encode())
    try:
        network = launcher.network("--ipv6", "--subnet", f"fd7a:{number >> 16:x}:{number & 0xFFFF:x}::/64")
        peer = Peer(launcher, "peer", "allowed.example", "tls.example", network=network)
        witness = Peer(launcher, "witness", "evil.example", "rebound.allowed.example", network=network)
        named = ["allowed.example", "*.allowed.example", "tls.example"]
        rules = [
            {"name": "the web", "action": "allow", "hosts": named, "ports": [80, 443]},
            {"name": "its address", "action": "allow", "cidrs": [f"{peer.address6}/128"], "ports": [80, 443]},
        ]
        policy = json.dumps({"default": "deny", "rules": rules})
        sandbox = launcher.start(env={"EGRESS_POLICY": POLICY_FILE}, files={POLICY_FILE: policy})
        joined = engine("network", "connect", network, sandbox.name)
        assert joined.code == 0, joined.stderr
        yield EgressHosts(sandbox, peer, witness)
    finally:
        launcher.remove()


@pytest.fixture
def silent(hosts: EgressHosts) -> Iterator[EgressHosts]:
    """The hosts, of which the witness hears nothing during the test."""
    hosts.witness.forget()
    yield hosts
    assert hosts.witness.heard() == []


@USERS
def test_what_is_allowed_is_reached_by_name_and_by_address(silent: EgressHosts, user: str) -> None:
    assert silent.run("curl -sS -m 20 http://allowed.example/", user) == "served by peer"
    assert silent.run("curl -skS -m 20 https://tls.example/", user) == "served by peer"
    assert silent.run(f"curl -gsS -m 20 http://[{silent.peer.address6}]/", user) == "served by peer"
    named = {"host": "allowed.example", "limit": 1}

    def addresses() -> list[str]:
        return [each["address"] for each in silent.sandbox.request("GET", "/v1/egress/connections", params=named).json()["data"]]

    until(lambda: addresses() == [silent.peer.address6])  # it is told behind the program's end


@USERS
@pytest.mark.parametrize(
    ("attempt", "refusal"),
    [
        pytest.param("curl -gsS -m 20 http://[{witness}]/", "is not allowed (protected)", id="address"),
        pytest.param("curl -gskS -m 20 https://[{witness}]/", "access denied", id="address by TLS"),
        pytest.param("curl -sS -m 20 http://evil.example/", "is not allowed (default)", id="name"),
        pytest.param("curl -sS -m 20 http://rebound.allowed.example/", "resolves to", id="name that leads to a private address"),
        pytest.param("curl -sS -m 20 http://{peer4}/", "is not allowed (protected)", id="the other family"),
        pytest.param("curl -gsS -m 20 http://[::ffff:{peer4}]/", "not allowed", id="mapped address"),
        pytest.param("curl -gsS -m 20 http://[64:ff9b::{peer4}]/", "not allowed", id="translated address (NAT64)"),
        pytest.param("curl -gsS -m 20 http://[fd00:ec2::254]/latest/meta-data/", "is not allowed (protected)", id="metadata"),
        pytest.param("curl -gsS -m 20 http://[{own}]:8080/readyz", "is not allowed (protected)", id="the container's address"),
        pytest.param(connect("{witness}", family="socket.AF_INET6"), "refused", id="by hand"),
        pytest.param(
            connect("{witness}", family="socket.AF_INET6", before="sock.setsockopt(socket.SOL_SOCKET, 25, b'eth0-')"),
            "refused",
            id="device",
        ),
        pytest.param(python("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('{witness}', 443))"), "refused", id="QUIC"),
        pytest.param(python("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('ff02::1%eth0', 123))"), "refused", id="link"),
        pytest.param("ping -6 -c1 -W60 {witness}", "Administratively prohibited", id="ping"),
    ],
)
def test_no_ipv6_address_leads_around_the_policy(silent: EgressHosts, user: str, attempt: str, refusal: str) -> None:
    own = silent.sandbox.inspect("{{range .NetworkSettings.Networks}}{{.GlobalIPv6Address}}{{end}}")
    places = {"{witness}": silent.witness.address6, "{peer4}": silent.peer.address, "{own}": own}
    for word, place in places.items():
        attempt = attempt.replace(word, place)
    silent.expect_refusal(attempt, user, refusal)


@USERS
def test_a_socket_that_is_bound_to_the_boxs_device_leads_nowhere(silent: EgressHosts, user: str) -> None:
    bound = connect(silent.witness.address6, family="socket.AF_INET6", before="sock.setsockopt(socket.SOL_SOCKET, 25, b'eth0')")
    silent.expect_silence(bound, user)


@USERS
def test_a_name_server_with_an_ipv6_address_is_not_reached(silent: EgressHosts, user: str) -> None:
    asking = f"""
query = bytes.fromhex("000701000001000000000000") + b"\\4evil\\7example\\0" + bytes.fromhex("00010001")
sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sock.settimeout(10)
sock.connect(({silent.witness.address6!r}, 53))
sock.send(query)
print(sock.recv(500)[-4:-2].hex())
"""
    assert silent.run(python(asking), user).split()[0] in ("c612", "c613")  # of 198.18.0.0/15
