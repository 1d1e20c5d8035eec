"""The rules in a network namespace that has a way out, as a container's has: to a device that nobody answers on."""

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from sandbox_server.drivers.egress import container_rules
from tests.egress_namespaces import ROOT, SECONDS

_SCRIPT = """
import json, os, select, socket, subprocess, sys
from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.egress import container_rules, network_namespace
from sandbox_server.egress.original_destination import original_destination
from sandbox_server.drivers.fence.network import raise_loopback
namespaces.leave_user_namespace()
os.unshare(os.CLONE_NEWNET)
raise_loopback()
network_namespace._execute([network_namespace.IP, "-batch", "-"], network_namespace.DEVICES)
kept = socket.create_server(("127.0.0.1", 8080))
made = container_rules.make(sys.argv[1])
listener = socket.socket(fileno=made.connections[0])
listener.setblocking(False)
packets = socket.socket(fileno=made.packets[0])

def attempt(uid, script):
    "What a program of a user's prints."
    done = subprocess.run([sys.executable, "-c", script], user=uid, group=uid, extra_groups=[], capture_output=True, text=True, timeout=30)
    return (done.stdout or done.stderr).strip().rpartition("\\n")[2]

def arrived():
    "Where the next connection was going that came to the listener; None if none came."
    if not select.select([listener], [], [], 0.5)[0]:
        return None
    return list(map(str, original_destination(listener.accept()[0])))

START = "import socket; s = socket.socket(); s.settimeout(0.2); MARK"
def connects(uid, host, port, mark=0):
    attempt(uid, START.replace("MARK", f"s.setsockopt(1, 36, {mark})" if mark else "pass") + f"; s.connect_ex(({host!r}, {port}))")
    return arrived()

SEND = "import socket; print(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ({!r}, {})))"
found = {
    "agent": connects(1000, "203.0.113.5", 80),
    "control": connects(990, "203.0.113.5", 80),
    "root": connects(0, "203.0.113.5", 80),
    "marked root": connects(0, "203.0.113.5", 80, container_rules.MARK),
    "agent's udp": attempt(1000, SEND.format("203.0.113.5", 123)),
    "control's udp": attempt(990, SEND.format("203.0.113.5", 123)),
    "agent's dns": [attempt(1000, SEND.format("203.0.113.5", 53)), packets.recv(10).decode()],
    "docker's resolver": attempt(1000, SEND.format("127.0.0.11", 4000)),
    "loopback": attempt(1000, "import socket; print(socket.create_connection(('127.0.0.1', 8080)).getpeername()[1])"),
}
container_rules.give_up_rights()
found["root flushes"] = subprocess.run(["/usr/sbin/nft", "flush", "ruleset"], capture_output=True).returncode
found["root marks"] = attempt(0, START.replace("MARK", "s.setsockopt(1, 36, 1)"))
found["agent afterwards"] = connects(1000, "203.0.113.5", 80)
found["other rights"] = os.access("/", os.W_OK) and attempt(1000, "import os; print(os.getuid())")
print(json.dumps(found))
"""
PLACE = ["203.0.113.5", "80"]


@cache
def tried(exempt: str) -> dict[str, Any]:
    """What each user could do under the rules."""
    command = [sys.executable, "-c", _SCRIPT, exempt]
    done = subprocess.run(command, env={"PYTHONPATH": ROOT}, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


USERS = container_rules.exempt_users((0, 990, 992))
MARKED = container_rules.exempt_mark()


@pytest.mark.parametrize("exempt", [USERS, MARKED])
def test_what_the_agent_connects_to_comes_to_the_egress_process_and_the_rest_is_refused_at_once(exempt: str) -> None:
    found = tried(exempt)
    assert found["agent"] == PLACE
    assert found["agent's udp"].startswith("PermissionError")
    assert found["agent's dns"] == ["1", "x"]
    assert found["docker's resolver"].startswith("PermissionError")


def test_the_sandboxs_own_users_are_not_redirected() -> None:
    found = tried(USERS)
    assert (found["control"], found["root"], found["control's udp"]) == (None, None, "1")


def test_a_mark_exempts_the_egress_process_alone_and_no_user() -> None:
    found = tried(MARKED)
    assert (found["control"], found["root"], found["marked root"]) == (PLACE, PLACE, None)


def test_services_on_the_loopback_stay_in_reach() -> None:
    assert tried(USERS)["loopback"] == "8080"


def test_nobody_changes_the_rules_once_the_rights_are_given_up_root_included() -> None:
    found = tried(USERS)
    assert found["root flushes"] != 0
    assert found["root marks"].startswith("PermissionError")
    assert found["agent afterwards"] == PLACE
    assert found["other rights"] == "1000"
