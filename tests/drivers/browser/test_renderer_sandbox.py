"""Which sandbox Chromium gets, and what a zygote is left with by the helper and the library of `native`."""

import json
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.browser.renderer_sandbox import available, has_helper
from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.spawn.process import Completed, Exit

CHROMIUM = "/usr/lib/chromium/chromium"
HELPER = "/usr/lib/chromium/chrome-sandbox"
ZYGOTE = """
import ctypes, json, os, signal, socket, sys
libc, asked, port, outcome = ctypes.CDLL(None, use_errno=True), int(os.environ["SBX_D"]), int(sys.argv[1]), {}

def tracing():
    if libc.ptrace(16, os.getppid(), 0, 0): raise PermissionError(ctypes.get_errno(), "ptrace")

def executing():
    pid = os.fork()
    if pid == 0:
        try: os.execv("/usr/bin/true", ["true"])
        except PermissionError: os._exit(13)
        os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 13: raise PermissionError(13, "exec")

attacks = {
    "read": lambda: open("/etc/passwd"), "read the program": lambda: open("/proc/self/exe"), "list": lambda: os.listdir("/tmp"),
    "write": lambda: open("/tmp/made-by-a-renderer", "w"), "read an environment": lambda: open(f"/proc/{os.getppid()}/environ"),
    "read its own": lambda: open("/proc/self/environ"), "execute": executing,
    "connect": lambda: socket.create_connection(("127.0.0.1", port), 5), "bind": lambda: socket.socket().bind(("127.0.0.1", 0)),
    "signal": lambda: os.kill(os.getppid(), 0), "trace": tracing,
}
def attempt():
    for name, attack in attacks.items():
        try: attack(); went = True
        except PermissionError: went = False
        outcome.setdefault(name, []).append(went)

if sys.argv[2] == "before": attempt()
assert libc.write(asked, b"C", 1) == 1 and os.read(asked, 1) == b"O"
attempt()
outcome["threads"] = len(os.listdir("/proc/self/task"))
outcome["dumpable"] = libc.prctl(3)
print(json.dumps(outcome))
"""
"""What a renderer that is taken over tries. It asks to lose the files as Chromium's zygote does."""


class FakeProcesses:
    """Answers every command with an exit code."""

    def __init__(self, code: int) -> None:
        self._code = code

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        return Completed(Exit(self._code, None), b"", b"", False)


@pytest.mark.anyio
async def test_namespaces_come_first_then_landlock_and_without_either_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await available(FakeProcesses(0), CHROMIUM, 1) == "namespaces"  # type: ignore[arg-type]
    assert await available(FakeProcesses(1), CHROMIUM, 1) == "landlock"  # type: ignore[arg-type]
    assert await available(FakeProcesses(1), "/usr/bin/chromium", 1) is None  # type: ignore[arg-type]
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    assert await available(FakeProcesses(1), CHROMIUM, 1) is None  # type: ignore[arg-type]


def test_a_helper_that_chromium_would_not_take_is_none(tmp_path: Path) -> None:
    assert has_helper("/usr/local/bin/browser")
    assert not has_helper(f"{tmp_path}/chromium")
    (tmp_path / "chrome-sandbox").touch(0o755)
    assert not has_helper(f"{tmp_path}/chromium")


def zygote(when: str) -> dict[str, Any]:
    """What a zygote that the helper starts can do after it asked to lose the files, or before and after."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        done = subprocess.run(
            [HELPER, "/usr/bin/python3", "-I", "-c", ZYGOTE, port, when],
            user="desktop",
            group="desktop",
            extra_groups=[],
            cwd="/",
            env={"PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def test_a_renderer_that_is_taken_over_reaches_no_file_no_host_and_no_process() -> None:
    if landlock.abi() < landlock.SCOPES_ABI:
        pytest.skip("this kernel's Landlock scopes no signals")
    outcome = zygote("after")
    assert outcome.pop("threads") == 1
    assert outcome.pop("dumpable") == 0
    assert [name for name, went in outcome.items() if went != [False]] == []


def test_before_it_asks_it_loads_what_it_needs() -> None:
    outcome = zygote("before")
    assert all(outcome[name][0] for name in ("read", "read the program", "execute", "connect"))


def test_the_helper_gives_up_what_set_user_id_gave_it() -> None:
    script = "import os; print(os.getresuid(), os.getresgid(), open('/proc/self/status').read())"
    argv = [HELPER, "/usr/bin/python3", "-I", "-c", script]
    told = subprocess.run(
        argv, user="desktop", group="desktop", extra_groups=[], capture_output=True, text=True, timeout=30, check=True
    ).stdout
    assert told.startswith("(991, 991, 991) (991, 991, 991)")
    assert "NoNewPrivs:\t1" in told
    assert "CapEff:\t0000000000000000" in told


@pytest.mark.parametrize(("arguments", "code", "told"), [(["--get-api"], 0, "1\n"), (["--adjust-oom-score", "1", "0"], 0, ""), ([], 1, "")])
def test_what_chromium_asks_the_helper(arguments: list[str], code: int, told: str) -> None:
    done = subprocess.run([HELPER, *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (code, told)
