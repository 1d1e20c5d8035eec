"""The network namespace of a box, with a real daemon, spawner and egress process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boxes import ROOT, SECONDS, BoxDaemons
from tests.patience import until

PROGRAM = "import sys; from sandbox_server.egress.app import serve; serve(sys.argv[1:])"
USER = "daemon"
NETWORK = "readlink /proc/self/ns/net"
FETCH = "curl -sS --noproxy '*' --max-time 20 http://evil.example/ 2>&1; true"
TAKE_PORTS = """
import socket, time
taken = []
for address in ("127.0.0.1", "::1"):
    for port in (15001, 15053):
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        sock.bind((address, port))
        sock.listen()
        taken.append(sock)
print("taken", flush=True)
time.sleep(600)
"""


class NetworkedBox(BoxDaemons):
    """A box whose network goes by way of an egress process."""

    def __init__(self, folder: Path) -> None:
        self.handover = str(folder / "egress.sock")
        super().__init__(folder, "--egress", self.handover, "--egress-user", USER, "--egress-port", "8080")
        self.egress_folder = folder
        self.egress: subprocess.Popen[bytes] | None = None

    def start_egress(self) -> None:
        """Start the egress process, and wait until it may be controlled."""
        control, files = self.egress_folder / "control.sock", ("policy.json", "names", "control.sock")
        control.unlink(missing_ok=True)
        policy, names, _ = (str(self.egress_folder / name) for name in files)
        arguments = ["--daemon", self.handover, "--policy", policy, "--names", names, "--control", str(control)]
        self.egress = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], env={"PYTHONPATH": ROOT})
        until(control.exists)

    def end_egress(self, number: int = signal.SIGKILL) -> None:
        """End it."""
        if self.egress:
            self.egress.send_signal(number)
            self.egress.wait(SECONDS)
        self.egress = None

    def stop(self) -> None:
        """End all."""
        self.end_egress()
        super().stop()


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkedBox]:
    folder = tmp_path_factory.mktemp("box")
    folder.chmod(0o755)
    made = NetworkedBox(folder)
    made.start()
    made.start_egress()
    yield made
    made.stop()


@pytest.mark.parametrize("user", ["agent", "root", "desktop"])
def test_every_program_has_the_boxs_network_and_none_the_containers(box: NetworkedBox, user: str) -> None:
    own = os.readlink("/proc/self/ns/net")
    first = box.out(NETWORK, user)
    assert first != own
    assert os.readlink(f"/proc/{box.init}/ns/net") == first
    assert "egress: evil.example:80" in box.out(FETCH, user)


def test_the_box_looks_names_up_at_the_egress_process_alone(box: NetworkedBox) -> None:
    assert box.out("cat /etc/resolv.conf") == "nameserver 127.0.0.11"
    assert box.out("getent hosts localhost").split()[0] in ("127.0.0.1", "::1")
    assert box.out('getent hosts "$(hostname)"').split()[0] == "127.0.0.1"
    assert box.out("getent ahostsv4 evil.example").startswith("198.18.")


def test_a_new_box_has_the_same_network(box: NetworkedBox) -> None:
    first, init = box.out(NETWORK), box.init
    box.kill(init)
    until(lambda: box.init != init)
    assert box.out(NETWORK) == first
    box.ask("restore", checkpoint=None, who="me")
    assert box.out(NETWORK) == first
    assert "egress: evil.example:80" in box.out(FETCH)


def test_the_next_daemon_keeps_the_network_and_gets_the_listeners_from_the_egress_process(box: NetworkedBox) -> None:
    first = box.out(NETWORK)
    box.end_box_daemon()
    assert "egress: evil.example:80" in box.out(FETCH)
    box.start_box_daemon()
    until(lambda: box.ask("status")["network"]["served"])
    box.end_egress()
    box.start_egress()
    assert box.out(NETWORK) == first
    assert "egress: evil.example:80" in box.out(FETCH)


def test_both_may_end_at_once(box: NetworkedBox) -> None:
    first = box.out(NETWORK)
    box.end_box_daemon()
    box.end_egress()
    box.start_box_daemon()
    box.start_egress()
    assert box.out(NETWORK) == first
    assert "egress: evil.example:80" in box.out(FETCH)


def test_the_egress_process_ends_where_the_box_has_another_network(box: NetworkedBox) -> None:
    first, former = box.out(NETWORK), box.egress
    assert former is not None
    box.end_box_daemon()
    box.kill(box.init)
    box.start_box_daemon()
    assert former.wait(SECONDS) == 0
    box.start_egress()
    box.end_spawner()
    box.start_spawner()
    assert box.out(NETWORK) != first
    assert "egress: evil.example:80" in box.out(FETCH)


def test_who_takes_the_ports_while_both_are_gone_ends_with_the_box(box: NetworkedBox) -> None:
    """Nothing leaves by them, but nothing would be served either."""
    init = box.init
    script = f"exec python3 -c '{TAKE_PORTS}'"
    box.end_box_daemon()
    box.end_egress()
    sock, _ = box.start_process(script)
    with sock:
        until(lambda: "15001" in box.out("ss -ltn || netstat -ltn"))
        box.start_box_daemon()
        box.start_egress()
        until(lambda: box.init != init)
    assert "egress: evil.example:80" in box.out(FETCH)
