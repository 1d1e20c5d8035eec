"""The box in the running image: undo, suspension, and what the agent cannot see. Nothing of the machine is mounted into it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.patience import until

Start = Callable[..., Sandbox]


def bash(sandbox: Sandbox, command: str, **more: object) -> dict[str, Any]:
    """Run a command as the agent does."""
    reply = sandbox.request("POST", "/v1/bash/exec", json={"command": command, **more})
    assert reply.status_code == 200, reply.text
    data: dict[str, Any] = reply.json()["data"]
    return data


def post(sandbox: Sandbox, path: str, **body: object) -> dict[str, Any]:
    reply = sandbox.request("POST", path, json=body)
    assert reply.status_code == 200, reply.text
    data: dict[str, Any] = reply.json()["data"]
    return data


@pytest.fixture(scope="module")
def boxed() -> Iterator[Sandbox]:
    """A container with a box, which these tests may break as far as a restore mends it."""
    launcher = new_launcher("boxed")
    try:
        yield launcher.start(env={"BROWSER_START": "lazy"})  # a browser that is starting, or is asked something, resumes the box
    finally:
        launcher.remove()


def test_the_box_is_the_isolation_level_that_holds(boxed: Sandbox) -> None:
    told = boxed.request("GET", "/v1/capabilities").json()["data"]
    assert (told["rung"], told["storage"], told["flags"]) == ("box", "container", [])


def test_environments_of_the_host_s_level_hold_nothing(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"JWT_ISSUER": "https://issuer.example"})
    seen = bash(sandbox, "sudo cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; sudo find / -xdev -name '*environ*.json'; env")[
        "stdout"
    ]
    assert sandbox.api_key not in seen
    assert "issuer.example" not in seen
    assert "environ.json" not in seen


def test_packages_install_in_the_box_alone_and_a_restore_takes_them_back(boxed: Sandbox) -> None:
    made = post(boxed, "/v1/checkpoints", label="clean")["checkpoint"]["id"]
    control = "Package: probe\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
    make = f"mkdir -p p/DEBIAN p/usr/bin && echo '{control}' > p/DEBIAN/control && touch p/usr/bin/probe && dpkg-deb -b p probe.deb"
    bash(boxed, f"cd /tmp && {make} && sudo dpkg -i probe.deb", timeout=60)
    assert bash(boxed, "dpkg-query -W probe")["stdout"] == "probe\t1\n"
    assert boxed.exec("dpkg-query", "-W", "probe").code != 0
    post(boxed, f"/v1/checkpoints/{made}/restore")
    assert bash(boxed, "dpkg-query -W probe")["exit_code"] != 0


def test_shells_are_where_they_were_after_a_checkpoint(boxed: Sandbox) -> None:
    post(boxed, "/v1/shell/exec", id="there", command="mkdir -p ~/here && cd ~/here && touch kept")
    assert "there" in post(boxed, "/v1/checkpoints", label="x", mode="stop")["reopened"]
    assert post(boxed, "/v1/shell/exec", id="there", command="pwd; ls")["output"].split() == ["/home/gem/here", "kept"]


def test_suspended_processes_use_no_processor_until_somebody_needs_the_box(boxed: Sandbox) -> None:
    post(boxed, "/v1/bash/exec", command="while :; do :; done", async_mode=True)
    assert post(boxed, "/v1/suspend")["state"] == "suspended"
    ticks = "awk '{print $3, $14 + $15}' /proc/$(pgrep -fo 'whil[e] : *; do :')/stat"
    before = boxed.exec("sh", "-c", ticks).stdout
    assert before.startswith("T ")
    assert boxed.exec("sh", "-c", f"sleep 0.3; {ticks}").stdout == before
    assert bash(boxed, "echo awake")["stdout"] == "awake\n"
    assert boxed.request("GET", "/v1/suspend").json()["data"]["state"] == "running"
    post(boxed, "/v1/box/restart")


@pytest.mark.parametrize("program", ["box", "spawner", "api"])
def test_what_dies_comes_back_and_the_box_s_files_with_it(boxed: Sandbox, program: str) -> None:
    bash(boxed, "echo kept > ~/kept")
    words = {"box": "sandbox_server box", "spawner": "sandbox_server spawn", "api": "sandbox_server serve"}[program]
    boxed.exec("sh", "-c", f"kill -9 $(pgrep -o -f '{words}$')")
    boxed.wait_ready()
    until(lambda: '"kept\\n"' in boxed.request("POST", "/v1/bash/exec", json={"command": "cat ~/kept"}).text, told=boxed.logs)


def test_files_and_checkpoints_outlive_the_container_with_a_volume(start_sandbox: Start) -> None:
    first = start_sandbox()
    post(first, "/v1/checkpoints", label="before")
    bash(first, "sudo touch /etc/changed")
    first.exec("true")
    first.stop()
    second = start_sandbox(args=[f"--volumes-from={first.name}"])
    assert bash(second, "ls /etc/changed")["stdout"] == "/etc/changed\n"
    assert [one["label"] for one in second.request("GET", "/v1/checkpoints").json()["data"]["checkpoints"]] == ["before"]
