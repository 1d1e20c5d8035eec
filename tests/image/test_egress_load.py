"""The network policy under load: floods of connections and packets by root in the box, slow clients, and changes meanwhile."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.image.egress_peers import EgressHosts, deny_all_but
from tests.image.test_egress import read_page
from tests.patience import PATIENCE_SECONDS, until

CONNECTIONS = 10_000
SERVED_SECONDS = 10.0
"""How soon another user is served during a flood, by that user's clock: the flood and other tests take all processors."""
MOST_MEMORY = 200
"""MiB that the egress process may have during a flood."""
POLICY = "/v1/egress/policy"

FLOOD = """
import json, os, resource, selectors, socket, sys, time

count, place, port, said = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), bytes.fromhex(sys.argv[4])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname(place)
begun, heard, over, socks = 0, 0, 0, selectors.DefaultSelector()
deadline = time.monotonic() + 60
while not os.path.exists("/tmp/flood-ends") and time.monotonic() < deadline:
    for _ in range(min(100, count - begun)):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex((address, port))
        socks.register(sock, selectors.EVENT_WRITE if said else selectors.EVENT_READ)
        begun += 1
    for key, event in socks.select(0.05):
        try:
            if event & selectors.EVENT_WRITE:
                key.fileobj.send(said)
                socks.modify(key.fileobj, selectors.EVENT_READ)
                continue
            received = key.fileobj.recv(1000)
        except OSError:
            received = b""
        heard += b"held" in received or b"served by" in received
        if not received:
            socks.unregister(key.fileobj)
            key.fileobj.close()
            over += 1
    if begun == count:
        with open(f"/tmp/flood.{os.getpid()}.new", "w") as file:
            json.dump({"begun": begun, "heard": heard, "over": over}, file)
        os.rename(f"/tmp/flood.{os.getpid()}.new", f"/tmp/flood.{sys.argv[5]}.json")
"""
"""Opens connections, says the same on each, and keeps those that are not ended by the other side."""
PARTS = 4
"""Processes of a flood, which together have enough descriptors."""


@pytest.fixture
def silent(egress_hosts: EgressHosts) -> Iterator[EgressHosts]:
    """The hosts, of which the witness hears nothing during the test."""
    egress_hosts.witness.forget()
    yield egress_hosts
    assert egress_hosts.witness.heard() == []


@contextmanager
def flood(hosts: EgressHosts, place: str, port: int, said: bytes = b"") -> Iterator[None]:
    """Ten thousand connections of root's, all begun."""
    hosts.run("rm -f /tmp/flood*")
    hosts.run(f"cat > /tmp/flood.py <<'PROGRAM'\n{FLOOD}\nPROGRAM")
    for part in range(PARTS):
        command = f"python3 /tmp/flood.py {CONNECTIONS // PARTS} {place} {port} '{said.hex()}' {part} >/tmp/flood.{part}.log 2>&1"
        hosts.run(f'setsid sh -c "{command}" >/dev/null 2>&1 </dev/null &')
    try:
        until(lambda: counts(hosts)["begun"] == CONNECTIONS, told=lambda: hosts.run("cat /tmp/flood*.log"))
        yield
    finally:
        hosts.run("touch /tmp/flood-ends")
        until(lambda: hosts.run("pgrep -f '[/]tmp/flood.py'") == "")


def counts(hosts: EgressHosts) -> dict[str, int]:
    """What the processes of a flood have counted, together."""
    parts = [json.loads(line) for line in hosts.run("cat /tmp/flood.*.json 2>/dev/null | sed 's/}{/}\\n{/g'").splitlines()]
    return {name: sum(part[name] for part in parts) for name in ("begun", "heard", "over")}


def memory(hosts: EgressHosts) -> int:
    """Resident memory of the egress process in MiB."""
    script = "awk '/VmRSS/ {print $2}' /proc/$(pgrep -o -f 'sandbox_server egress$')/status"
    return int(hosts.sandbox.exec("sh", "-c", script).stdout) >> 10


def open_connections(hosts: EgressHosts) -> int:
    """How many connections are relayed."""
    status: dict[str, Any] = hosts.sandbox.request("GET", "/v1/egress/status").json()["data"]
    return int(status["open"])


def until_said(hosts: EgressHosts, url: str, answer: str) -> None:
    """Wait until the agent's user gets an answer."""
    said = ""

    def is_said() -> bool:
        nonlocal said
        said = hosts.run(f"curl -sS -m {SERVED_SECONDS:g} {url}", "gem")
        return answer in said

    until(is_said, told=lambda: said)


@pytest.mark.parametrize(
    ("place", "port", "said"),
    [
        pytest.param("evil.example", 443, b"", id="half-open, to a host that is denied"),
        pytest.param("evil.example", 443, bytes.fromhex("16030140000100") + b"x" * 12_000, id="unfinished ClientHellos"),
        pytest.param("allowed.example", 80, b"GET / HTTP/1.1\r\nHost: ", id="unfinished requests to a host that is allowed"),
        pytest.param("ssh.example", 2300, b"", id="open ones to a host that is allowed"),
        pytest.param("127.0.0.1", 8080, b"GET / HTTP/1.1\r\nHost: ", id="unfinished requests to the gateway"),
    ],
)
def test_ten_thousand_connections_at_once_keep_no_other_user_out(silent: EgressHosts, place: str, port: int, said: bytes) -> None:
    with flood(silent, place, port, said):
        for url, answer in (
            ("http://allowed.example/", "served by peer"),
            ("http://127.0.0.1:8080/readyz", '"ready"'),
            ("http://evil.example/", "is not allowed (default)"),
        ):
            until_said(silent, url, answer)
        until(lambda: "served by peer" in read_page(silent.sandbox, "http://allowed.example/"))
        assert memory(silent) < MOST_MEMORY
    until(lambda: open_connections(silent) < 100)
    assert silent.run("curl -sS -m 20 http://allowed.example/") == "served by peer"


SLOW = """
import socket, time
socks, longest, begun = [], 0, time.monotonic()
places = [("allowed.example", 80, b"G"), ("tls.example", 443, b"\\x16"), ("evil.example", 80, b"G"), ("evil.example", 25, b"")]
for place, port, said in places:
    for _ in range(20):
        sock = socket.create_connection((place, port), 20)
        sock.setblocking(False)
        socks.append((sock, said, time.monotonic()))
while socks and time.monotonic() < begun + 60:
    for sock, said, since in list(socks):
        try:
            sock.send(said)
            if sock.recv(100):
                continue
        except BlockingIOError:
            continue
        except OSError:
            pass
        longest = max(longest, time.monotonic() - since)
        socks.remove((sock, said, since))
    time.sleep(0.2)
print(len(socks), longest < 40)
"""


def test_who_says_a_byte_at_a_time_is_ended_and_holds_nobody_up(silent: EgressHosts) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(silent.run, f"python3 - <<'PROGRAM'\n{SLOW}\nPROGRAM")
        while not slow.done():
            assert silent.run("curl -sS -m 20 http://allowed.example/", "gem") == "served by peer"
    assert slow.result().strip() == "0 True"


def test_who_has_said_all_and_hears_on_gets_the_answer(silent: EgressHosts) -> None:
    """A connection of which one direction is closed is not over."""
    script = """
import socket
sock = socket.create_connection(("allowed.example", 80), 20)
sock.sendall(b"GET / HTTP/1.1\\r\\nHost: allowed.example\\r\\nConnection: close\\r\\n\\r\\n")
sock.shutdown(socket.SHUT_WR)
print(b"".join(iter(lambda: sock.recv(1000), b"")).decode())
"""
    assert "served by peer" in silent.run(f"python3 - <<'PROGRAM'\n{script}\nPROGRAM")


TRACKED = """
import socket, sys, time
packets, sock, deadline = 0, None, time.monotonic() + 60
for port in range(1024, 65536):
    if packets >= 400_000 or time.monotonic() > deadline:
        break
    if port % 8 == 0:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for host in range(1, 9):
        try:
            sock.sendto(b"x", (f"127.0.{sys.argv[1]}.{host}", port))
        except OSError:
            pass
        packets += 1
print(packets)
"""
"""Sends packets that the kernel may have to remember, one for each pair of addresses and ports."""


def test_a_flood_of_packets_that_the_kernel_tracks_keeps_no_other_user_out(silent: EgressHosts) -> None:
    programs = " ".join(f"python3 /tmp/tracked.py {part} &" for part in range(2))
    said = silent.run(
        f"cat > /tmp/tracked.py <<'PROGRAM'\n{TRACKED}\nPROGRAM\n{programs} wait; cat /proc/sys/net/netfilter/nf_conntrack_count"
    )
    assert sum(map(int, said.split()[:2])) > 100_000, said
    assert silent.run("curl -sS -m 10 http://allowed.example/", "gem") == "served by peer"
    assert "served by peer" in read_page(silent.sandbox, "http://allowed.example/")
    assert "not allowed" in silent.run("curl -sS -m 20 http://evil.example/", "gem")
    assert json.loads(silent.run("curl -sS -m 20 http://127.0.0.1:8080/readyz"))["status"] == "ready"


QUERIES = """
import socket, struct, time
packets, deadline = 0, time.monotonic() + 20
servers = [f"9.9.{number}.9" for number in range(250)]
while time.monotonic() < deadline and packets < 100_000:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    for server in servers:
        name = f"n{packets}".encode()
        query = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + bytes([len(name)]) + name + b"\\4evil\\7example\\0" + struct.pack(">2H", 1, 1)
        try:
            sock.sendto(query, (server, 53))
        except OSError:
            pass
        packets += 1
print(packets)
"""


def test_a_flood_of_names_keeps_no_other_user_from_resolving(silent: EgressHosts) -> None:
    assert int(silent.run(f"python3 - <<'PROGRAM'\n{QUERIES}\nPROGRAM")) > 10_000
    assert silent.run("curl -sS -m 20 http://deep.allowed.example/", "gem") == "served by peer"
    assert memory(silent) < MOST_MEMORY


USE = """
import json, os, socket, sys, threading, time
counts = {"allowed": 0, "refused": 0, "passed": 0}

def fetch(place):
    with socket.create_connection((place, 80), 20) as sock:
        sock.settimeout(20)
        sock.sendall(b"GET / HTTP/1.1\\r\\nHost: " + place.encode() + b"\\r\\nConnection: close\\r\\n\\r\\n")
        return b"".join(iter(lambda: sock.recv(4000), b""))

def use(place, told):
    while not os.path.exists("/tmp/use-ends"):
        try:
            said = fetch(place)
        except OSError:
            continue
        counts["passed" if b"served by" in said and place == "evil.example" else told if b"served by" in said else "refused"] += 1

threads = [threading.Thread(target=use, args=(place, "allowed")) for place in ["allowed.example"] * 10 + ["evil.example"] * 10]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(counts))
"""
KEEP = """
import socket
socks = [socket.create_connection(("ssh.example", 2300), 60) for _ in range(50)]
print(all(sock.recv(10) == b"held" for sock in socks))
open("/tmp/kept", "w").close()
for sock in socks:
    sock.settimeout(60)
print(all(sock.recv(10) == b"" for sock in socks))
"""
"""Connections that last, until the policy denies them."""
CHANGES = 10


def test_a_change_under_load_holds_at_once_and_cuts_what_it_denies(silent: EgressHosts) -> None:
    allowing = json.loads(deny_all_but(silent.peer))
    many = [{"action": "allow", "hosts": [f"h{number}.example"], "ports": [443]} for number in range(5000)]

    def put(document: object) -> Any:
        reply = silent.sandbox.request("PUT", POLICY, json=document, headers={"If-Match": "*"})
        return reply.json()["data"] if reply.status_code == 200 else reply.status_code

    silent.run(f"rm -f /tmp/use-ends /tmp/kept; cat > /tmp/use.py <<'PROGRAM'\n{USE}\nPROGRAM")
    with ThreadPoolExecutor(2) as pool:
        used = pool.submit(silent.run, "python3 /tmp/use.py")
        kept = pool.submit(silent.run, f"python3 - <<'PROGRAM'\n{KEEP}\nPROGRAM")
        try:
            until(lambda: silent.run("ls /tmp/kept").startswith("/tmp/kept"))
            cut = 0
            for number in range(CHANGES):
                cut += put({"default": "deny", "rules": many if number % 2 else []})["cut"]
                assert "not allowed" in silent.run("curl -sS -m 20 http://allowed.example/", "gem")
                assert put({"default": "deny", "rules": [{"action": "allow", "hosts": ["a b"]}]}) == 422
                assert "not allowed" in silent.run("curl -sS -m 20 http://allowed.example/", "gem")
                put({**allowing, "rules": [*many, *allowing["rules"]] if number % 2 else allowing["rules"]})
                assert silent.run("curl -sS -m 20 http://allowed.example/", "gem") == "served by peer"
            assert cut >= 50
            assert kept.result(PATIENCE_SECONDS).split() == ["True", "True"]
        finally:
            put(allowing)
            silent.run("touch /tmp/use-ends")
    counted = json.loads(used.result(PATIENCE_SECONDS))
    assert counted["passed"] == 0
    assert counted["allowed"] > 0
    assert counted["refused"] > CHANGES
