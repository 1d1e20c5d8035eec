"""Undo by itself and without the workspace, and suspension by itself, in containers with those settings."""

from collections.abc import Callable
from typing import Any

from tests.image.container import Sandbox
from tests.patience import until

Start = Callable[..., Sandbox]


def checkpoints(sandbox: Sandbox) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sandbox.request("GET", "/v1/checkpoints").json()["data"]["checkpoints"]
    return found


def state(sandbox: Sandbox) -> str:
    told: str = sandbox.request("GET", "/v1/suspend").json()["data"]["state"]
    return told


def test_what_is_risky_can_be_undone_without_having_thought_of_it(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"CHECKPOINT_BEFORE_RISK": "idle"})
    sandbox.run("sh", "-c", "mkdir ~/work && echo mine > ~/work/file")
    assert checkpoints(sandbox) == []
    removed = sandbox.request("POST", "/v1/file/delete", json={"path": "/home/gem/work", "recursive": True}).json()
    assert removed["success"], removed
    [made] = checkpoints(sandbox)
    assert (made["why"], made["label"]) == ("before_risk", "before file.delete_file")
    sandbox.request("POST", f"/v1/checkpoints/{made['id']}/restore", json={})
    assert sandbox.run("cat", "work/file").stdout == "mine\n"


def test_nothing_is_kept_while_a_command_would_be_ended_for_it(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"CHECKPOINT_BEFORE_RISK": "idle"})
    sandbox.run("mkdir", "work")
    sandbox.request("POST", "/v1/bash/exec", json={"command": "sleep 600", "async_mode": True})
    assert sandbox.run("rm", "-r", "work").code == 0
    assert checkpoints(sandbox) == []


def test_a_workspace_that_is_left_out_stays_as_it_is(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"CHECKPOINT_WORKSPACE": "false", "WORKSPACE": "/srv/work"})
    sandbox.run("sh", "-c", "echo mine > /srv/work/file; sudo touch /etc/changed ~/changed")
    sandbox.request("POST", "/v1/checkpoints/image/restore", json={"keep": False})
    assert sandbox.run("sh", "-c", "cat /srv/work/file; ls /etc/changed ~/changed").stdout == "mine\n"


def test_an_idle_box_stands_still_until_it_is_needed_and_not_while_somebody_works(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"IDLE_SUSPEND_SECONDS": "1"})
    until(lambda: state(sandbox) == "suspended")
    assert sandbox.run("echo", "awake").stdout == "awake\n"
    working = sandbox.request("POST", "/v1/bash/exec", json={"command": "sleep 3", "timeout": 30})
    assert working.json()["data"]["exit_code"] == 0, "what stands still does not end"
    until(lambda: state(sandbox) == "suspended")


def test_the_shells_of_a_new_box_export_what_those_of_the_last_did(sandbox: Sandbox) -> None:
    shell = {"id": "exports", "command": "export MARK='a b'; cd /usr; plain=1"}
    sandbox.request("POST", "/v1/shell/exec", json=shell)
    renewed = sandbox.request("POST", "/v1/box/restart").json()["data"]
    assert "exports" in renewed["reopened"]
    assert "functions" in renewed["not_kept"]
    told = sandbox.request("POST", "/v1/shell/exec", json={"id": "exports", "command": 'echo "$MARK,$plain,$PWD"'}).json()["data"]
    assert told["output"] == "a b,,/usr\n"
