"""The process itself, as the supervisor starts it: with descriptors, files and a socket."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.egress.app import MAX_FLOWS, flow_limit
from tests.egress_namespaces import ROOT, NetworkBox
from tests.patience import PATIENCE_SECONDS, until

PROGRAM = "import sys; from sandbox_server.egress.app import serve; serve(sys.argv[1:])"
OPEN = {"action": "allow", "cidrs": ["127.0.9.0/24"], "protocols": ["http"]}


class EgressProcess:
    """A process with the listeners of a namespace."""

    def __init__(self, folder: Path, box: NetworkBox) -> None:
        self.policy, self.names, self.control = (str(folder / name) for name in ("policy.json", "names", "control.sock"))
        self._box = box
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it may be controlled."""
        Path(self.control).unlink(missing_ok=True)
        made = self._box.namespace
        arguments = ["--policy", self.policy, "--names", self.names, "--control", self.control]
        for option, fds in (("--connections", made.connections), ("--packets", made.packets), ("--queries", made.queries)):
            arguments += [word for fd in fds for word in (option, str(fd))]
        arguments += ["--log", str(made.log[0]), "--owners", str(made.owners[0])]
        command = [sys.executable, "-c", PROGRAM, *arguments]
        self._process = subprocess.Popen(command, env={"PYTHONPATH": ROOT}, pass_fds=made.descriptors)
        until(self._listens)  # its socket is there a moment before it does

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.control) == 0

    def end(self, number: int) -> int:
        """End it with a signal; returns its status."""
        assert self._process
        self._process.send_signal(number)
        status = self._process.wait(PATIENCE_SECONDS)
        self._process = None
        return status

    def ask(self, op: str, **fields: object) -> dict[str, object]:
        """The answer to a request."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE_SECONDS)
            sock.connect(self.control)
            sock.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")
            answer: dict[str, object] = json.loads(sock.makefile().readline())
        return answer

    def memory(self) -> int:
        """Its resident memory in MiB."""
        fields = Path(f"/proc/{self.pid}/status").read_text().split()
        return int(fields[fields.index("VmRSS:") + 1]) >> 10


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkBox]:
    made = NetworkBox(tmp_path_factory.mktemp("egress"))
    yield made
    made.close()


@pytest.fixture
def egress(tmp_path: Path, box: NetworkBox) -> Iterator[EgressProcess]:
    made = EgressProcess(tmp_path, box)
    made.start()
    yield made
    if made._process:
        made.end(signal.SIGKILL)


def test_it_denies_until_it_has_a_policy_and_keeps_that_and_the_names_over_its_end(egress: EgressProcess, box: NetworkBox) -> None:
    fetch = ["curl", "-sS", "--noproxy", "*", "--max-time", "20", "-w", "%{http_code}"]
    assert box.run(*fetch, "http://127.0.9.1/").stdout.endswith("000")  # its own loopback
    assert box.run(*fetch, "http://evil.example/").stdout.endswith("403")
    address = box.run("getent", "hosts", "evil.example").stdout.split()[0]
    assert egress.ask("policy", policy=json.dumps({"rules": [{"action": "deny", "hosts": ["evil.example"], "name": "no evil"}]})) == {
        "ok": {"cut": 0}
    }
    assert "no evil" in box.run(*fetch, "http://evil.example/").stdout
    egress.end(signal.SIGKILL)
    egress.start()
    assert "no evil" in box.run(*fetch, "--resolve", f"evil.example:80:{address}", "http://evil.example/").stdout


def test_while_it_is_gone_nothing_passes_and_what_waits_is_served_after(egress: EgressProcess, box: NetworkBox) -> None:
    egress.end(signal.SIGKILL)
    command = box.command("curl", "-sS", "--noproxy", "*", "--max-time", "20", "-w", "%{http_code}", "http://8.8.8.8/")
    fds = [box._user, box.namespace.namespace]
    waiting = subprocess.Popen(command, env={"PYTHONPATH": ROOT}, pass_fds=fds, stdout=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(1)
    egress.start()
    said, _ = waiting.communicate(timeout=PATIENCE_SECONDS)
    assert said.endswith("403")


def test_it_stays_small_with_many_rules_and_ends_when_it_is_told_to(egress: EgressProcess) -> None:
    rules = [
        {"name": f"rule {number}", "action": "allow", "hosts": [f"h{number}.example", f"*.w{number}.example"], "ports": [443]}
        for number in range(10_000)
    ]
    for _ in range(5):
        egress.ask("document")
        egress.ask("policy", policy=json.dumps({"rules": [*rules, OPEN]}))
    assert egress.memory() < 39
    assert egress.end(signal.SIGTERM) == 0


def test_it_has_room_for_as_many_flows_as_it_has_descriptors() -> None:
    assert 0 < flow_limit() <= MAX_FLOWS


ATTACK = """
import socket, sys, threading, time
passed = []
def knock():
    deadline = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("8.8.8.8", 80), 1) as sock:
                sock.settimeout(1)
                sock.sendall(b"GET / HTTP/1.1\\r\\nHost: 8.8.8.8\\r\\n\\r\\n")
                said = sock.recv(100)
                if said and b"403" not in said:
                    passed.append(said)
        except OSError:
            pass
threads = [threading.Thread(target=knock) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
print(len(passed))
"""


@pytest.mark.slow
def test_nothing_passes_while_it_is_killed_fifty_times(egress: EgressProcess, box: NetworkBox) -> None:
    command = box.command(sys.executable, "-c", ATTACK, "20", uid=0)
    fds = [box._user, box.namespace.namespace]
    attacking = subprocess.Popen(command, env={"PYTHONPATH": ROOT}, pass_fds=fds, stdout=subprocess.PIPE, text=True)
    for _ in range(50):
        egress.end(signal.SIGKILL)
        egress.start()
    said, _ = attacking.communicate(timeout=PATIENCE_SECONDS)
    assert said.strip() == "0"
    assert "403" in box.run("curl", "-sS", "--noproxy", "*", "--max-time", "20", "-w", "%{http_code}", "http://8.8.8.8/").stdout


@pytest.mark.slow
def test_ten_thousand_half_open_connections_take_little_and_keep_nobody_out_for_long(egress: EgressProcess, box: NetworkBox) -> None:
    script = """
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
socks = []
for number in range(10_000):
    sock = socket.socket()
    sock.setblocking(False)
    sock.connect_ex(("8.8.8.8", 443))
    socks.append(sock)
for sock in socks:
    try:
        sock.send(bytes.fromhex("16030140000100") + b"x" * 12_000)
    except OSError:
        pass
print(len(socks))
"""
    assert box.python(script) == "10000"
    assert egress.memory() < 120
    assert box.run("curl", "-sS", "--noproxy", "*", "--max-time", "30", "-w", "%{http_code}", "http://8.8.8.8/").stdout.endswith("403")
