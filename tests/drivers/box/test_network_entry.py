"""Programs of the control side in the network of a real box."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box.network_entry import bind
from tests.boxes import ROOT, BoxDaemons
from tests.patience import PATIENCE_SECONDS

EGRESS = ("--egress-user", "daemon", "--egress")
ENTER = "import sys; from sandbox_server.drivers.box.network_entry import run; run(sys.argv[1:])"
SEEN = """
import json, os, socket
from pathlib import Path
status = dict(line.split(":\\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\\t" in line)
devices = sorted(line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:])
out = {"uid": os.getuid(), "groups": os.getgroups(), "caps": status["CapEff"].strip(), "nnp": status["NoNewPrivs"].strip(), "net": devices}
sock = os.environ.get("NGINX", "").rstrip(";")
held = socket.socket(fileno=int(sock)) if sock else None
out["output"] = [os.fstat(1).st_uid == os.getuid(), os.fstat(1).st_mode & 0o777]
out["inherited"] = held.getsockname() if held else None
print(json.dumps(out), flush=True)
import time
time.sleep(60)
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[BoxDaemons]:
    """A box with a network of its own."""
    made = BoxDaemons(tmp_path)
    made.start_box_daemon(*EGRESS, str(tmp_path / "egress.sock"))
    yield made
    made.stop()


Enter = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def enter(box: BoxDaemons) -> Iterator[Enter]:
    """Run a program in the box's network."""
    running: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", ENTER, "--box", box.box_socket, "--user", "nobody", *options, "--", sys.executable, "-c", SEEN]
        made = subprocess.Popen(argv, env={"PYTHONPATH": ROOT}, stdout=subprocess.PIPE, text=True)
        running.append(made)
        return made

    yield start
    for each in running:
        each.kill()
        each.communicate()


def said(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout
    found: dict[str, object] = json.loads(process.stdout.readline())
    return found


def test_a_program_is_in_the_boxes_network_without_any_right(enter: Enter) -> None:
    found = said(enter())

    assert found["uid"] == 65534
    assert (found["caps"], found["nnp"]) == ("0" * 16, "1")
    assert found["output"] == [True, 0o600], "what opens /dev/stdout opens the pipe again"
    assert "eth0" in str(found["net"])
    assert 0 not in found["groups"]  # type: ignore[operator]


def test_what_it_accepts_for_a_published_port_is_in_the_containers_network(enter: Enter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = enter("--listen", f"127.0.0.1:{port}")

    assert said(process)["inherited"] == ["127.0.0.1", port]
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS):
        pass


def test_it_ends_with_the_daemon(box: BoxDaemons, enter: Enter) -> None:
    process = enter()
    said(process)
    box.end_box_daemon()
    assert process.wait(PATIENCE_SECONDS) == -signal.SIGTERM


def test_it_waits_for_a_daemon_that_is_not_there_yet(tmp_path: Path, box: BoxDaemons, enter: Enter) -> None:
    box.end_box_daemon(signal.SIGTERM)
    process = enter()
    box.start_box_daemon(*EGRESS, str(tmp_path / "egress.sock"))
    assert said(process)["uid"] == 65534


def test_places_of_both_families_are_listened_on() -> None:
    made = bind(["127.0.0.1:0"])
    assert made[0].getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    made[0].close()
