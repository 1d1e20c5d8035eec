"""Measures inside a container of the tests: servers outside of a namespace, the egress process at its listeners, clients on both sides."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from tests.egress_namespaces import ROOT, NetworkBox

HOST, OUTSIDE, SMALL, LARGE = "bench.example", "127.0.9.1", 9001, 9002
CONNECTS, RATE, RATE_SECONDS = 200, 1000, 3
RULES = (10, 10_000)
CLIENT = str(Path(__file__).with_name("client.py"))
PROGRAM = "import sys; from sandbox_server.egress.app import serve; serve(sys.argv[1:])"
SERVER = """
import socket, sys, threading
def small(sock):
    with sock:
        if sock.recv(1):
            sock.sendall(b"ok")
def large(sock):
    with sock:
        head = sock.recv(9, socket.MSG_WAITALL)
        left, piece = int.from_bytes(head[1:]), bytes(1 << 20)
        while left > 0:
            sock.sendall(piece)
            left -= len(piece)
def serve(port, work):
    listener = socket.create_server(("127.0.9.1", port), backlog=4096)
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=work, args=(sock,), daemon=True).start()
threading.Thread(target=serve, args=(9002, large), daemon=True).start()
serve(9001, small)
"""


class Egress:
    """The egress process."""

    def __init__(self, folder: Path, box: NetworkBox, **environ: str) -> None:
        self.control = str(folder / "control.sock")
        Path(self.control).unlink(missing_ok=True)
        made = box.namespace
        arguments = ["--policy", str(folder / "policy.json"), "--names", str(folder / "names"), "--control", self.control]
        for option in ("connections", "packets", "queries", "owners"):
            arguments += [word for fd in getattr(made, option) for word in (f"--{option}", str(fd))]
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], env={"PYTHONPATH": ROOT, **environ}, pass_fds=made.descriptors
        )
        deadline = time.monotonic() + 30
        while not os.path.exists(self.control) and time.monotonic() < deadline:
            time.sleep(0.05)

    def rules(self, count: int) -> None:
        """Read the policy and put one of so many rules in force, as the API does. The last rules allow the servers."""
        others: list[dict[str, object]] = [
            {"hosts": [f"h{number}.example", f"*.w{number}.example"], "ports": [443]} for number in range(count - 2)
        ]
        named: list[dict[str, object]] = [{"hosts": [HOST], "ports": [SMALL, LARGE]}, {"cidrs": ["127.0.9.0/24"], "protocols": ["tcp"]}]
        rules = [{"name": f"rule {number}", "action": "allow", **rule} for number, rule in enumerate(others + named)]
        self.ask("document")
        self.ask("policy", policy=json.dumps({"rules": rules}))

    def ask(self, op: str, **fields: object) -> Any:
        """Have it do one thing."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.control)
            sock.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")
            answer = json.loads(sock.makefile().readline())
        if "ok" not in answer:
            raise SystemExit(f"{op}: {answer}")
        return answer["ok"]

    @property
    def cpu_seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> dict[str, float]:
        """Resident memory in MiB, and what of it no other process shares; the kernel tells no more of a process that forbids tracing."""
        words = Path(f"/proc/{self._process.pid}/status").read_text().split()
        return {name: int(words[words.index(f"{field}:") + 1]) / 1024 for name, field in (("rss", "VmRSS"), ("anonymous", "RssAnon"))}

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)


def wait_for_port(port: int) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as sock:
            if not sock.connect_ex((OUTSIDE, port)):
                return
        time.sleep(0.05)


def direct(*words: object) -> Any:
    """Run the client in the container's own network."""
    done = subprocess.run([sys.executable, CLIENT, *map(str, words)], stdout=subprocess.PIPE, check=True, timeout=600)
    return json.loads(done.stdout)


def through(box: NetworkBox, *words: object) -> Any:
    """Run the client in the box."""
    done = box.run(sys.executable, CLIENT, *map(str, words), seconds=600)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def measure(box: NetworkBox, egress: Egress, mebibytes: int) -> dict[str, dict[str, float]]:
    """One round: direct, and through the policy with few and with many rules."""
    found: dict[str, dict[str, float]] = {}
    found["direct"] = direct("connects", OUTSIDE, SMALL, CONNECTS) | direct("fetches", OUTSIDE, LARGE, mebibytes)
    for count in RULES:
        egress.rules(count)
        cpu = egress.cpu_seconds
        place = through(box, "connects", HOST, SMALL, CONNECTS)
        place["cpu_ms_a_connection"] = (egress.cpu_seconds - cpu) * 1000 / CONNECTS
        cpu = egress.cpu_seconds
        place |= through(box, "fetches", HOST, LARGE, mebibytes)
        place["cpu_s_a_gib"] = (egress.cpu_seconds - cpu) * 1024 / mebibytes
        found[f"{count} rules"] = place
    cpu = egress.cpu_seconds
    found["rate"] = through(box, "arrives", HOST, SMALL, RATE, RATE_SECONDS)
    found["rate"]["cpu_ms_a_connection"] = (egress.cpu_seconds - cpu) * 1000 / (RATE * RATE_SECONDS)
    return found


def main(rounds: int = 5, mebibytes: int = 1024) -> None:
    """Print every round, then the medians and the memory as one JSON object."""
    servers = subprocess.Popen([sys.executable, "-c", SERVER])
    wait_for_port(SMALL)
    found: list[dict[str, dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        box = NetworkBox(Path(folder))
        egress = Egress(Path(folder), box)
        memory = {"at the start": egress.memory}
        try:
            for number in range(rounds):
                found.append(measure(box, egress, mebibytes))
                sys.stdout.write(f"round {number + 1}, load {os.getloadavg()[0]:.1f}: {json.dumps(found[-1])}\n")
            memory["after it"] = egress.memory
        finally:
            egress.end()
            box.close()
            servers.kill()
            servers.wait()
    medians = {
        place: {name: round(median(each[place][name] for each in found), 3) for name in figures} for place, figures in found[0].items()
    }
    sys.stdout.write(json.dumps(medians | {"memory": memory, "load": os.getloadavg()[0]}) + "\n")


if __name__ == "__main__":
    threading.stack_size(1 << 20)
    main(*map(int, sys.argv[1:]))
