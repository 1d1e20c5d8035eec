"""What the namespace itself does, without anybody at its listeners."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.egress import network_namespace
from sandbox_server.drivers.egress.network_namespace import NetworkNamespaceError, create
from tests.egress_namespaces import ROOT, NetworkBox


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkBox]:
    """A namespace with one forwarded port."""
    folder = tmp_path_factory.mktemp("egress")
    made = NetworkBox(folder, [8080])
    yield made
    made.close()


def test_the_listeners_are_in_the_namespace_and_held_here(box: NetworkBox) -> None:
    found = [socket.socket(fileno=os.dup(fd)) for fd in (*box.namespace.connections, *box.namespace.queries, *box.namespace.forwarded)]
    places = [sock.getsockname()[:2] for sock in found]
    for sock in found:
        sock.close()
    assert places[0] == ("127.0.0.1", 15001)
    assert places[-2:] == [("127.0.0.1", 8080), ("::1", 8080)]
    assert "15001" in box.run("ss", "-ltn").stdout or not os.path.exists("/usr/bin/ss")


@pytest.mark.parametrize("uid", [0, 1000])
@pytest.mark.parametrize(
    "command",
    [
        "nft flush ruleset",
        "nft list ruleset",
        "nft add table inet x",
        "ip route del default",
        "ip route add 1.2.3.4 dev lo",
        "ip addr add 10.0.0.1/8 dev eth0",
        "ip link set eth0 down",
        "ip link add x type veth peer name y",
        "ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:01 dev eth0",
        "ip rule add pref 1 table 99",
    ],
)
def test_nobody_in_the_box_changes_it(box: NetworkBox, uid: int, command: str) -> None:
    done = box.run("sh", "-c", command, uid=uid)
    assert done.returncode != 0
    assert "not permitted" in done.stderr


@pytest.mark.parametrize("family", ["AF_PACKET, socket.SOCK_RAW", "AF_INET, socket.SOCK_RAW, 1"])
def test_root_in_the_box_has_no_raw_sockets(box: NetworkBox, family: str) -> None:
    script = f"import socket\ntry:\n    socket.socket(socket.{family})\nexcept PermissionError:\n    print('refused')"
    assert box.python(script, uid=0) == "refused"


def test_root_in_the_box_joins_no_other_namespace(box: NetworkBox) -> None:
    script = """
import os
try:
    os.setns(os.open("/proc/self/ns/net", os.O_RDONLY), os.CLONE_NEWNET)
except PermissionError:
    print("refused")
"""
    assert box.python(script, uid=0) == "refused"


@pytest.mark.parametrize(("address", "port"), [("8.8.8.8", 123), ("8.8.8.8", 443), ("239.0.0.1", 5353), ("2001:4860:4860::8888", 443)])
def test_packets_that_are_not_dns_are_refused_at_once(box: NetworkBox, address: str, port: int) -> None:
    script = f"""
import socket, time
begin = time.monotonic()
sock = socket.socket(socket.AF_INET6 if ":" in "{address}" else socket.AF_INET, socket.SOCK_DGRAM)
try:
    sock.sendto(b"x", ("{address}", {port}))
except PermissionError:
    print(time.monotonic() - begin < 1)
"""
    assert box.python(script) == "True"


def test_what_the_box_says_to_itself_is_heard(box: NetworkBox) -> None:
    script = """
import socket
with socket.create_server(("0.0.0.0", 3000)) as server:
    for address in ("127.0.0.1", "localhost", "0.0.0.0", "198.18.0.1"):
        with socket.create_connection((address, 3000), 5):
            server.accept()[0].close()
            print(address)
"""
    assert box.python(script).split() == ["127.0.0.1", "localhost", "0.0.0.0", "198.18.0.1"]


def test_the_loopback_of_the_container_is_not_the_boxs(box: NetworkBox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"""
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 5)
except ConnectionRefusedError:
    print("refused")
"""
        assert box.python(script) == "refused"


def test_abstract_sockets_of_the_container_are_not_in_reach(box: NetworkBox) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0egress-{os.getpid()}")
        server.listen()
        script = f"""
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\\0egress-{os.getpid()}")
except ConnectionRefusedError:
    print("refused")
"""
        assert box.python(script, uid=0) == "refused"


def test_a_port_below_1024_may_be_served_by_anybody(box: NetworkBox) -> None:
    assert box.python("import socket; socket.create_server(('127.0.0.1', 80)); print('served')") == "served"


def test_without_rules_there_is_still_no_way_out(tmp_path: Path) -> None:
    made = NetworkBox(tmp_path)
    flushed = made.run("nft", "flush", "ruleset", uid=0, inner="owner")
    assert flushed.returncode == 0, flushed.stderr
    script = """
import socket
sock = socket.socket()
sock.settimeout(60)
try:
    sock.connect(("8.8.8.8", 80))
except OSError as error:
    print(error.strerror)
"""
    assert made.python(script) == "No route to host", "the kernel has asked on eth0 who has the address, and nobody is there"
    made.close()


def test_a_program_that_fails_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_namespace, "NFT", "/usr/sbin/none")
    with pytest.raises(NetworkNamespaceError):
        create()


TAKE_OVER = """
import os, socket
from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.egress import network_namespace as n
namespaces.leave_user_namespace()
first = n.create([8080])
kept = os.dup(first.namespace)
try:
    n.take_over(kept, [8080])
except n.NetworkNamespaceError as error:
    print("in use" in str(error))
first.close()
second = n.take_over(kept, [8080])
print(os.path.samestat(os.fstat(second.namespace), os.fstat(kept)), len(second.descriptors) == len(first.descriptors))
print(socket.socket(fileno=second.connections[0]).getsockname())
"""


def test_listeners_whose_holders_have_ended_are_made_anew() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TAKE_OVER], env={"PYTHONPATH": ROOT}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == ["True", "True True", "('127.0.0.1', 15001)"]
