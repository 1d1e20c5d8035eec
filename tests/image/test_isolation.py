"""Isolated commands in the running image, at each isolation level, and what a host without the profile refuses."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import PROFILE, Sandbox
from tests.refusals import assert_refused

Start = Callable[..., Sandbox]
WRITE_WORK = {"read": {"deny": ["~/secret"]}, "write": {"allow": ["~/work"]}, "network": {}, "env": {"allow": []}}


@pytest.fixture(scope="module", params=["box", "users"])
def at_level(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A container at that isolation level, with `~/work` and `~/secret/key`."""
    launcher = new_launcher(f"isolation-{request.param}")
    try:
        sandbox = launcher.start(args=["--security-opt=systempaths=unconfined"], env={"BOX": "on" if request.param == "box" else "off"})
        assert sandbox.request("GET", "/v1/capabilities").json()["data"]["rung"] == request.param
        bash(sandbox, "mkdir ~/work ~/secret && echo hidden > ~/secret/key")
        yield sandbox
    finally:
        launcher.remove()


def default_profile() -> str:
    """The engine's own profile: ours without what it adds."""
    profile = json.loads(Path(PROFILE).read_text())
    added = sum(len(json.loads(Path(PROFILE).with_name(f"{name}.json").read_text())["syscalls"]) for name in ("chromium", "box"))
    profile["syscalls"] = profile["syscalls"][:-added]
    Path("/tmp/default.json").write_text(json.dumps(profile))
    return "/tmp/default.json"


def bash(sandbox: Sandbox, command: str, **more: object) -> dict[str, Any]:
    reply = sandbox.request("POST", "/v1/bash/exec", json={"command": command, **more})
    assert reply.status_code == 200, reply.text
    data: dict[str, Any] = reply.json()["data"]
    return data


def shell(sandbox: Sandbox, command: str, **more: object) -> dict[str, Any]:
    reply = sandbox.request("POST", "/v1/shell/exec", json={"id": "one", "command": command, **more})
    assert reply.status_code == 200, reply.text
    data: dict[str, Any] = reply.json()["data"]
    return data


def outcome(ended: dict[str, Any]) -> tuple[int | None, str]:
    """How a command ended, and what it said: /v1/shell/exec has one text for both of its outputs."""
    return ended["exit_code"], ended.get("output") or f"{ended.get('stdout', '')}{ended.get('stderr', '')}"


FORBIDDEN = {
    "write elsewhere": "echo x > ~/made",
    "read what is denied": "cat ~/secret/key",
    "reach the gateway": "curl -sS -m 60 http://127.0.0.1:8080/healthz",
    "read the sandbox's token": "cat /run/sandbox-agent/token",
    "use the terminals' socket": "tmux -S /run/sandbox-agent/shells/tmux.sock list-sessions",
    "become root": "sudo -n true",
    "look into a terminal's shell": "for p in $(pgrep -u gem); do [ $p = $$ ] || ! head -c 1 /proc/$p/environ || exit 0; done; exit 1",
}


@pytest.mark.parametrize("command", FORBIDDEN.values(), ids=FORBIDDEN)
@pytest.mark.parametrize("run", [bash, shell])
def test_an_isolated_command_cannot(at_level: Sandbox, run: Callable[..., dict[str, Any]], command: str) -> None:
    assert_refused(*outcome(run(at_level, command, isolation=WRITE_WORK)))


@pytest.mark.parametrize("run", [bash, shell])
def test_an_isolated_command_can_do_what_it_is_allowed(at_level: Sandbox, run: Callable[..., dict[str, Any]]) -> None:
    done = run(at_level, "echo x > ~/work/x && grep -q x ~/work/x && git init -q ~/work/repo && rm -r ~/work/repo", isolation=WRITE_WORK)
    assert done["exit_code"] == 0, done


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "print(open('/home/gem/work/{0}', 'w').write('x')); open('/home/gem/{0}', 'w')"),
        (
            "javascript",
            "const {{writeFileSync: put}} = require('fs'); put('/home/gem/work/{0}', 'x'); console.log(1); put('/home/gem/{0}', 'x')",
        ),
    ],
)
def test_isolated_code_writes_where_it_is_allowed_and_nowhere_else(at_level: Sandbox, language: str, source: str) -> None:
    asked = {"language": language, "code": source.format(f"by-{language}"), "cwd": "/home/gem/work", "isolation": WRITE_WORK}
    done = at_level.request("POST", "/v1/code/execute", json=asked).json()["data"]
    assert (done["status"], done["stdout"]) == ("error", "1\n"), done
    written = at_level.run("sh", "-c", f"ls ~/work/by-{language} ~/by-{language} 2>/dev/null").stdout
    assert written == f"/home/gem/work/by-{language}\n"


def test_a_wrong_policy_is_422_and_a_missing_path_400(at_level: Sandbox) -> None:
    wrong = at_level.request("POST", "/v1/bash/exec", json={"command": "true", "isolation": {"reads": {}}})
    assert wrong.status_code == 422
    assert wrong.json()["detail"][0]["loc"][:2] == ["body", "isolation"]
    for path in ("/v1/bash/exec", "/v1/shell/exec"):
        missing = at_level.request("POST", path, json={"command": "true", "isolation": {"write": {"allow": ["/none"]}}})
        assert missing.status_code == 400, missing.text


def test_doctor_says_that_policies_are_enforced(at_level: Sandbox) -> None:
    checks = {check["name"]: check for check in at_level.request("GET", "/v1/doctor").json()["data"]["checks"]}
    assert checks["isolation"]["status"] == "holds", checks["isolation"]


def test_without_the_profile_what_can_be_enforced_is_and_the_rest_is_409(start_sandbox: Start) -> None:
    sandbox = start_sandbox(args=[f"--security-opt=seccomp={default_profile()}"])
    for run in (bash, shell):
        assert run(sandbox, "echo x > ~/x", isolation={"write": {"allow": ["/tmp"]}, "network": {}})["exit_code"] == 1
        reach = run(sandbox, "curl -sS -m 60 http://127.0.0.1:8080/healthz", isolation={"write": {"allow": ["/tmp"]}, "network": {}})
        assert_refused(*outcome(reach))
    for field, policy in {
        "isolation.network.allowed_domains": {"write": {}, "network": {"allowed_domains": ["example.com"]}},
        "isolation.read.deny": {"write": {}, "network": {}, "read": {"deny": ["/etc/hostname"]}},
        "isolation.limits.processes": {"write": {}, "network": {}, "limits": {"processes": 5}},
        "isolation.network": {"write": {}},
        "isolation.write": {"network": {}},
    }.items():
        for path in ("/v1/bash/exec", "/v1/shell/exec"):
            refused = sandbox.request("POST", path, json={"command": "touch /tmp/ran", "isolation": policy})
            assert refused.status_code == 409, (field, path, refused.text)
            assert field in refused.json()["message"]
            assert "seccomp=deploy/seccomp/tandem.json" in refused.json()["hint"]
    assert bash(sandbox, "ls /tmp/ran")["exit_code"] == 2
    lost = sandbox.request("GET", "/v1/doctor").json()["data"]["lost"]
    assert "isolation" in lost
