"""The network policy in the running image while its parts are killed, and when it is off, wrong or missing."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox, engine
from tests.image.egress_peers import EgressHosts, Peer, start_hosts
from tests.patience import until

Start = Callable[..., Sandbox]

KILLS = 50
BACK_SECONDS = 10.0
"""How long nothing may be served after a kill, while the attack and other tests take all processors. It takes 0.2 s of a processor."""

ATTACK = """
import json, os, socket, sys, threading, time

witness, allowed, ended = sys.argv[1], sys.argv[2], "/tmp/attack-ends"
counts = {"refused": 0, "late": 0, "passed": 0, "served": 0, "longest": 0.0}
lock = threading.Lock()

def fetch(place, seconds):
    with socket.create_connection((place, 80), seconds) as sock:
        sock.settimeout(seconds)
        sock.sendall(b"GET / HTTP/1.1\\r\\nHost: " + place.encode() + b"\\r\\nConnection: close\\r\\n\\r\\n")
        return sock.recv(4000)

def attack(place):
    while not os.path.exists(ended):
        outcome = "refused"
        try:
            outcome = "passed" if b"403 Forbidden" not in (said := fetch(place, 5)) and said != b"" else "refused"
        except TimeoutError:
            outcome = "late"
        except OSError:
            time.sleep(0.01)
        try:
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (witness, 123))
            outcome = "passed"
        except OSError:
            pass
        with lock:
            counts[outcome] += 1

def use():
    since = time.monotonic()
    while not os.path.exists(ended):
        try:
            if b"200 OK" in fetch(allowed, 20):
                now = time.monotonic()
                counts["served"] += 1
                counts["longest"] = max(counts["longest"], now - since)
                since = now
        except OSError:
            pass
        time.sleep(0.01)

threads = [threading.Thread(target=attack, args=(place,)) for place in ("evil.example", witness)]
threads.append(threading.Thread(target=use))
for one in threads:
    one.start()
for one in threads:
    one.join()
print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[EgressHosts]:
    """One sandbox for the tests that kill."""
    launcher = new_launcher("egress-failures")
    try:
        yield start_hosts(launcher)
    finally:
        launcher.remove()


class Attack:
    """Programs in the box, root's, that try to reach the witness, and one that uses what is allowed."""

    def __init__(self, hosts: EgressHosts) -> None:
        self._hosts = hosts
        hosts.witness.forget()
        hosts.run("rm -f /tmp/attack-ends /tmp/attack.json")
        hosts.run(f"cat > /tmp/attack.py <<'PROGRAM'\n{ATTACK}\nPROGRAM")
        program = f"python3 /tmp/attack.py {hosts.witness.address} allowed.example >/tmp/attack.json 2>/tmp/attack.log"
        hosts.run(f"setsid sh -c '{program}' >/dev/null 2>&1 </dev/null &")

    def end(self) -> dict[str, Any]:
        """Stop it, and tell what it did."""
        self._hosts.run("touch /tmp/attack-ends")
        until(lambda: self._hosts.run("cat /tmp/attack.json").strip(), told=lambda: self._hosts.run("cat /tmp/attack.log"))
        counts: dict[str, Any] = json.loads(self._hosts.run("cat /tmp/attack.json"))
        return counts


KILL = """
boot=$(pgrep --oldest --full '^/opt/venv/bin/python -I -m sandbox_server boot$')
for round in $(seq {rounds}); do
  pid=$(pgrep --parent "$boot" --full 'sandbox_server {command}$') && before=$(stat -c %z {socket}) && kill -KILL "$pid"
  until [ "$(stat -c %z {socket} 2>/dev/null || echo "$before")" != "$before" ]; do sleep 0.02; done
  sleep {rest}
done
"""
"""Kills a program of the supervisor and waits until the next one listens, again and again."""
PLACES = {
    "egress": ("/run/sandbox-egress/control.sock", 0.2),
    "box": ("/run/sandbox/box.sock", 1.2),
    "spawn": ("/run/sandbox/spawn.sock", 1.2),
}
"""Where each program listens, and how long it rests: Supervisor delays what ends within its first second, but not the egress process."""


def kill(sandbox: Sandbox, command: str, rounds: int = 1) -> None:
    """Kill a program so many times."""
    socket, rest = PLACES[command]
    script = KILL.format(rounds=rounds, command=command, socket=socket, rest=rest)
    done = sandbox.exec("timeout", "700", "sh", "-c", script, timeout=720)
    assert done.code == 0, done.stderr


@pytest.mark.limit(1000)
@pytest.mark.parametrize("command", ["egress", "box"])
def test_nothing_passes_while_a_process_is_killed_fifty_times_and_it_is_soon_back(hosts: EgressHosts, command: str) -> None:
    attack = Attack(hosts)
    kill(hosts.sandbox, command, KILLS)
    until(lambda: serves(hosts), told=hosts.sandbox.logs)
    counts = attack.end()
    assert hosts.witness.heard() == []
    assert counts["passed"] == 0
    assert counts["refused"] > KILLS
    assert counts["served"] > KILLS
    assert counts["longest"] < BACK_SECONDS, counts


def test_both_may_be_killed_at_once_and_the_spawner_too(hosts: EgressHosts) -> None:
    attack = Attack(hosts)
    script = "boot=$(pgrep --oldest --full '^/opt/venv/bin/python -I -m sandbox_server boot$'); "
    script += "kill -KILL $(pgrep --parent $boot --full 'sandbox_server (egress|box|spawn)$')"
    assert hosts.sandbox.exec("sh", "-c", script).code == 0
    until(lambda: serves(hosts), told=hosts.sandbox.logs)
    counts = attack.end()
    assert counts["passed"] == 0
    assert counts["refused"] > 0
    assert hosts.witness.heard() == []


def serves(hosts: EgressHosts) -> bool:
    """Whether a program starts in the box and reaches what is allowed."""
    answer = hosts.sandbox.request("POST", "/v1/bash/exec", json={"command": "curl -sS -m 20 http://allowed.example/"})
    return "served by peer" in answer.text


def test_the_doctor_says_that_the_policy_holds_and_when_it_does_not(hosts: EgressHosts) -> None:
    assert doctor(hosts.sandbox)["status"] == "holds"
    assert "3 rules, default deny" in doctor(hosts.sandbox)["detail"]


def doctor(sandbox: Sandbox) -> dict[str, Any]:
    """What the doctor says of the policy."""
    checks = sandbox.request("GET", "/v1/doctor").json()["data"]["checks"]
    found: dict[str, Any] = next(check for check in checks if check["name"] == "egress_policy")
    return found


@pytest.fixture(scope="module")
def witness() -> Iterator[Peer]:
    """A host without a policy that names it."""
    launcher = new_launcher("egress-witness")
    try:
        yield Peer(launcher, "witness", "evil.example")
    finally:
        launcher.remove()


def reach(sandbox: Sandbox, *arguments: str) -> str:
    """What curl says in the box."""
    done = sandbox.run("curl", "-sS", "-m", "20", *arguments)
    return done.stdout + done.stderr


def test_without_a_setting_everything_but_metadata_and_the_containers_own_is_reached(start_sandbox: Start, witness: Peer) -> None:
    sandbox = start_sandbox()
    assert reach(sandbox, "http://evil.example/") == "served by witness"
    assert reach(sandbox, f"http://{witness.address}:8080/") == "served by witness"
    own = sandbox.inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
    assert "not allowed" in reach(sandbox, f"http://{own}:8080/readyz")
    assert "not allowed" in reach(sandbox, "http://169.254.169.254/")
    assert "1 rule, default allow" in doctor(sandbox)["detail"]


def test_switched_off_the_box_has_the_containers_network(start_sandbox: Start, witness: Peer) -> None:
    sandbox = start_sandbox(env={"EGRESS": "false", "EGRESS_POLICY": '{"default": "deny"}'})
    assert reach(sandbox, "http://evil.example/") == "served by witness"
    assert sandbox.run("readlink", "/proc/self/ns/net").stdout == sandbox.exec("readlink", "/proc/self/ns/net").stdout
    assert doctor(sandbox)["status"] == "lost"
    assert sandbox.exec("pgrep", "--full", "sandbox_server egress").code == 1


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ('{"default": "deny"', "EGRESS_POLICY not JSON"),
        ('{"rules": [{"action": "permit", "hosts": ["a.example"]}]}', "EGRESS_POLICY/rules/0/action must be one of"),
        ("/etc/none.json", "EGRESS_POLICY names /etc/none.json, which cannot be read"),
        ("/var/log/gem/policy.json", "EGRESS_POLICY names /var/log/gem/policy.json, which programs in the box could change"),
    ],
)
def test_a_policy_that_cannot_be_used_stops_the_container_and_says_where(start_sandbox: Start, policy: str, message: str) -> None:
    args = ["--volume=/var/log/gem"] if "could change" in message else []
    sandbox = start_sandbox(env={"EGRESS_POLICY": policy}, args=args, files={"/var/log/gem/policy.json": "{}"}, ready=False)
    until(lambda: sandbox.inspect("{{.State.Running}}") == "false")
    assert sandbox.inspect("{{.State.ExitCode}}") == "2"
    assert message in sandbox.logs()


def test_a_policy_that_breaks_later_closes_everything(start_sandbox: Start, witness: Peer) -> None:
    sandbox = start_sandbox()
    sandbox.exec("sh", "-c", "echo '{' > /run/sandbox-egress/policy.json")
    kill(sandbox, "egress")
    until(lambda: "not allowed" in reach(sandbox, "http://evil.example/"))
    until(lambda: doctor(sandbox)["status"] == "lost")
    assert "cannot be read" in doctor(sandbox)["detail"]
    until(lambda: "the policy cannot be read" in sandbox.logs())


def test_without_a_box_the_doctor_says_that_nothing_is_enforced(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"BOX": "off"})
    found = doctor(sandbox)
    assert found["status"] == "lost"
    assert "the isolation level is users" in found["detail"]


def test_a_restart_keeps_the_policy_that_is_in_force(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"EGRESS_POLICY": '{"default": "deny"}'})
    sandbox.exec("sh", "-c", "echo '{\"default\": \"deny\", \"rules\": [{\"action\": \"allow\", \"hosts\": [\"a.example\"]}]}' "
                             "> /run/sandbox-egress/policy.json")  # fmt: skip
    engine("restart", sandbox.name)
    sandbox.wait_ready()
    assert "1 rule, default deny" in doctor(sandbox)["detail"]
