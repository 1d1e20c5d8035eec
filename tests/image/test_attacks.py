"""Attacks on the control side from inside, one by one, and the destructive vectors of the AgentBay paper. Nothing of the host is."""

import os
import shlex
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.image.attacks import AS_AGENT, AS_ROOT
from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.patience import until
from tests.refusals import assert_refused

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls are x86-64's")

ATTACK_SECONDS = 110
"""For an attack to end by itself: some search all files, on a machine that does other things."""
WRITABLE = ("/run", "/tmp", "/var/tmp", "/var/log/gem", "/home/gem")


@pytest.fixture(scope="module")
def boxed() -> Iterator[Sandbox]:
    """A container with a box."""
    launcher = new_launcher("attacked")
    try:
        yield launcher.start(env={"BOX": "on"})
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def unboxed() -> Iterator[Sandbox]:
    """A container without a box, where the agent may not become root."""
    launcher = new_launcher("attacked-users", boxed=False)
    try:
        yield launcher.start(env={"BOX": "off", "ALLOW_SUDO": "false"})
    finally:
        launcher.remove()


def status(sandbox: Sandbox, command: str) -> tuple[int | None, str]:
    reply = sandbox.request("POST", "/v1/bash/exec", json={"command": command, "hard_timeout": ATTACK_SECONDS})
    assert reply.status_code == 200, reply.text
    done = reply.json()["data"]
    return done["exit_code"], done["stdout"] + done["stderr"]


@pytest.mark.parametrize("script", AS_ROOT.values(), ids=AS_ROOT)
def test_root_in_the_box_cannot(boxed: Sandbox, script: str) -> None:
    assert_refused(*status(boxed, f"sudo bash -c {shlex.quote(script)}"))


@pytest.mark.parametrize("script", AS_AGENT.values(), ids=AS_AGENT)
def test_the_agent_without_a_box_cannot(unboxed: Sandbox, script: str) -> None:
    assert_refused(*status(unboxed, script))


def test_the_attacks_run_at_all(boxed: Sandbox, unboxed: Sandbox) -> None:
    for sandbox, become in ((boxed, "sudo "), (unboxed, "")):
        assert (
            status(sandbox, f"{become}bash -c 'python3 -c \"import ctypes, socket\" && which curl nsenter unshare mount mknod pgrep'")[0]
            == 0
        )
    assert status(boxed, "sudo bash -c 'mkdir -p /mnt/x && mount -t tmpfs x /mnt/x && umount /mnt/x'")[0] == 0
    assert status(boxed, "sudo id -u") == (0, "0\n")


def test_signals_from_root_in_the_box_end_nothing_outside(boxed: Sandbox) -> None:
    before = own_processes(boxed)
    boxed.request("POST", "/v1/bash/exec", json={"command": "sudo bash -c 'kill -9 1; kill -STOP 1; kill -9 -1'", "hard_timeout": 30})
    assert own_processes(boxed) == before
    until(lambda: '"exit_code":0' in boxed.request("POST", "/v1/bash/exec", json={"command": "true"}).text.replace(" ", ""))


def own_processes(sandbox: Sandbox) -> list[str]:
    """The pid of each component, not those of what it forks for a moment."""
    found = [sandbox.exec("pgrep", "-o", "-f", f"sandbox_server {name}").stdout for name in ("serve", "spawn", "mcp", "box")]
    assert all(found)
    return found


def test_what_root_in_the_box_changes_of_the_image_is_not_the_container_s(boxed: Sandbox) -> None:
    changed = (
        "echo 'raise SystemExit' > /opt/tandem/sandbox_server/app.py; echo x > /usr/bin/tini; echo x >> /etc/passwd; rm -rf /opt/venv/lib"
    )
    before = boxed.exec("sha256sum", "/opt/tandem/sandbox_server/app.py", "/usr/bin/tini", "/etc/passwd").stdout
    assert status(boxed, f"sudo bash -c {shlex.quote(changed)}")[0] == 0
    assert boxed.exec("sha256sum", "/opt/tandem/sandbox_server/app.py", "/usr/bin/tini", "/etc/passwd").stdout == before
    boxed.exec("sh", "-c", "kill -9 $(pgrep -o -f 'sandbox_server serve')")
    boxed.wait_ready()
    assert boxed.request("POST", "/v1/checkpoints/image/restore", json={"keep": False}).status_code == 200


def test_agentbay_vector_a_deleting_everything_leaves_the_api_and_a_restore_brings_it_back(boxed: Sandbox) -> None:
    made = boxed.request("POST", "/v1/checkpoints", json={"label": "before"}).json()["data"]["checkpoint"]["id"]
    boxed.request("POST", "/v1/bash/exec", json={"command": "sudo rm -fr --no-preserve-root /", "timeout": 20, "hard_timeout": 60})
    boxed.wait_ready()
    assert boxed.exec("ls", "/usr/bin/tini", "/opt/venv/bin/python").code == 0
    assert boxed.request("POST", f"/v1/checkpoints/{made}/restore", json={"keep": False}).status_code == 200
    assert status(boxed, "ls /usr/bin/python3 /home/gem >/dev/null && echo whole") == (0, "whole\n")


def test_agentbay_vector_a_reading_the_host_s_environment_finds_no_secret(boxed: Sandbox, unboxed: Sandbox) -> None:
    for sandbox, become in ((boxed, "sudo "), (unboxed, "")):
        _, seen = status(sandbox, f"env; {become}env; {become}sh -c 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline' | tr '\\0' '\\n'")
        assert "PATH=" in seen
        assert sandbox.api_key not in seen
        assert "SANDBOX_API_KEY" not in seen


@pytest.mark.parametrize("args", [["--user=1000"], ["--read-only", *(f"--tmpfs={path}" for path in WRITABLE)]], ids=["none", "users"])
def test_sudo_does_not_work_where_root_could_write_the_host_s_settings(start_sandbox: Callable[..., Sandbox], args: list[str]) -> None:
    sandbox = start_sandbox(args=args, env={"BOX": "off"})
    assert sandbox.exec("sh", "-c", "test -w /proc/sys/kernel/core_pattern", user="root").code == 0
    assert status(sandbox, "sudo -n true")[0] == 1
    assert not sandbox.request("GET", "/v1/capabilities").json()["data"]["agent_may_be_root"]


PICTURES = "awk 'NR > 1 && $3 % 10 { found++ } END { print found + 0 }' /proc/sysvipc/shm"
"""Counts the segments that any user may attach: Chromium's pictures for the X server are such."""


def draws(sandbox: Sandbox) -> bool:
    """Have the browser draw a page; after a restore it comes in its own time."""
    return sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "data:text/html,drawn"}).is_success


def test_no_program_of_the_agent_attaches_the_pictures_that_the_browser_draws(boxed: Sandbox, unboxed: Sandbox) -> None:
    for sandbox in (boxed, unboxed):
        sandbox.wait_ready()
        until(partial(draws, sandbox))
        assert status(sandbox, PICTURES) == (0, "0\n")
    until(lambda: int(boxed.exec("sh", "-c", PICTURES).stdout) > 0)
