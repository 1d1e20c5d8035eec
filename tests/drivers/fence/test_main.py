"""How a shell isolates a command: the program that becomes another shell, run as the agent."""

import json
import sys

import pytest

from sandbox_server.drivers.fence.__main__ import REFUSED
from tests.fences import Ended, Fences


def fenced(fences: Fences, policy: object, text: str, environment: str = "env -0") -> Ended:
    argv = f"-m sandbox_server.drivers.fence $f {fences.private} '{json.dumps(policy)}'"
    return fences.run(f"(exec {{f}}< <({environment}) && exec -c {sys.executable} -I {argv} '{text}')", cwd="/")


def test_the_command_has_the_session_s_environment_and_no_more_rights(fences: Fences) -> None:
    given = fenced(fences, {}, "echo $GIVEN; id -un; grep NoNewPrivs /proc/self/status", "GIVEN=x env -0")
    assert given.output.split() == ["x", "gem", "NoNewPrivs:", "1"]


def test_its_status_is_the_command_s(fences: Fences) -> None:
    assert fenced(fences, {}, "exit 7").code == 7


@pytest.mark.parametrize(
    "text", ["cat {private}/token", "cat ~/secret/key", "exec 3<>/dev/tcp/127.0.0.1/22", "echo x > ~/x", "sudo -n true"]
)
def test_the_policy_holds(fences: Fences, text: str) -> None:
    policy = {"read": {"deny": ["~/secret"]}, "write": {"allow": ["~/work"]}, "network": {}}
    assert fenced(fences, policy, text.replace("{private}", fences.private)).code == 1


def test_what_cannot_be_enforced_is_told_and_nothing_runs(fences: Fences) -> None:
    ended = fenced(fences, {"write": {"allow": ["/no/such"]}}, "echo ran")
    assert ended.code == REFUSED
    assert "isolation.write.allow" in ended.output
    assert '"field": "write.allow"' in ended.output
    assert "ran" not in ended.output.split()


def test_nothing_is_preloaded_into_the_program_itself(fences: Fences) -> None:
    ended = fences.run(f"export LD_PRELOAD=/no/such.so; (exec -c {sys.executable} -I -c 'print(1)')", cwd="/")
    assert ended.output.split()[-1] == "1"
    assert "no/such" not in ended.output
