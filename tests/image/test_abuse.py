"""What an agent may do to its box, by mistake or not: the API answers all the while, who did it is named, and the box is usable again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.patience import until

HELD = "import time; time.sleep(600)"


@dataclass(frozen=True)
class Abuse:
    """A command, what it must have brought about, and the kind of incident that it is; None where the kernel refuses it and that is all."""

    command: str
    kind: str | None = None
    sign: str = ""


ABUSES = {
    "a fork bomb": Abuse("bomb() { bomb | bomb & }; bomb; sleep 600", "processes"),
    "a memory hog": Abuse(f"python3 -c 'x = [bytearray(1 << 20) for _ in range(4000)]; {HELD}'; echo ended $?", "memory", "ended 137"),
    "a storm of zombies": Abuse(
        f"python3 -c 'import os\ntry:\n  for _ in range(5000):\n    os.fork() or os._exit(0)\nexcept OSError: pass\n{HELD}'", "processes"
    ),
    "a process that ignores every signal": Abuse("trap '' HUP INT TERM QUIT USR1 USR2; while :; do :; done"),
    "ten thousand open files": Abuse(
        f"ulimit -n 12000; python3 -c 'f = [open(\"/dev/null\") for _ in range(10000)]; {HELD}'", "descriptors"
    ),
    "signals to everybody": Abuse("sudo bash -c 'kill -9 -1'", "killed"),
    "mischief in /proc and /sys": Abuse(
        "sudo sh -c 'for f in $(find /proc/sys /sys -type f 2>/dev/null); do echo 1 > $f && echo wrote $f; done'; "
        "sudo sh -c 'echo b > /proc/sysrq-trigger'; echo done",
        None,
        "done",
    ),
    "a full disk": Abuse("cat /dev/zero > ~/big; sleep 600", "disk"),
    "no inodes": Abuse("mkdir -p ~/i; cd ~/i; python3 -c 'for n in range(10**6): open(str(n), \"w\").close()'; sleep 600", "inodes"),
    "a deleted system": Abuse("sudo rm -rf --no-preserve-root /; sleep 600 2>/dev/null", "system"),
}


@pytest.fixture(scope="module")
def abused() -> Iterator[Sandbox]:
    """A container whose box is on a small filesystem."""
    launcher = new_launcher("abused")
    try:
        yield launcher.start(args=["--memory=1g", "--tmpfs=/sandbox:size=128m,nr_inodes=20k,mode=700,exec"])
    finally:
        launcher.remove()


@contextmanager
def answering(sandbox: Sandbox) -> Iterator[None]:
    """Have the API answer, again and again, meanwhile; `benchmarks/abuse/run` says how long that takes."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            assert sandbox.http.get(f"{sandbox.base_url}/v1/capabilities", headers=sandbox.headers, timeout=120).status_code == 200

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def get(sandbox: Sandbox, path: str) -> dict[str, Any]:
    reply = sandbox.request("GET", path)
    assert reply.status_code == 200, reply.text
    data: dict[str, Any] = reply.json()["data"]
    return data


def incidents(sandbox: Sandbox, kind: str, session: str) -> list[dict[str, Any]]:
    """Those of a kind for which a session is to blame."""
    found = [one for one in get(sandbox, "/v1/box")["incidents"] if one["kind"] == kind and one["culprit"]]
    return [one for one in found if one["culprit"]["session"] == f"bash:{session}"]


def incident_check(sandbox: Sandbox) -> dict[str, Any]:
    """What the doctor says of incidents."""
    return next(check for check in get(sandbox, "/v1/doctor")["checks"] if check["name"] == "box_incidents")


@pytest.mark.parametrize("name", ABUSES)
def test_the_api_answers_the_culprit_is_named_and_the_box_is_usable_again(abused: Sandbox, name: str) -> None:
    abuse, session = ABUSES[name], name.replace(" ", "-").replace("/", "")
    made = abused.request("POST", "/v1/bash/sessions/create", json={"session_id": session})
    assert made.status_code == 200, made.text
    assert abused.request("POST", "/v1/shell/exec", json={"id": "bystander", "command": "true"}).status_code == 200
    with answering(abused):
        begun = abused.request("POST", "/v1/bash/exec", json={"session_id": session, "command": abuse.command, "async_mode": True})
        assert begun.status_code == 200, begun.text
        if abuse.sign:
            output = {"session_id": session, "offset": 0}
            until(lambda: abuse.sign in abused.request("POST", "/v1/bash/output", json=output).json()["data"]["stdout"])
        if abuse.kind:
            kind = abuse.kind
            until(lambda: incidents(abused, kind, session), told=lambda: str(get(abused, "/v1/box")["incidents"]))
            until(lambda: f'"session": "bash:{session}"' in abused.logs())  # the engine has it a little later
        restored = abused.request("POST", "/v1/checkpoints/image/restore", json={"keep": False})
        assert restored.status_code == 200, restored.text
        usable = abused.request("POST", "/v1/bash/exec", json={"command": "echo $((6 * 7)) > ~/sum && cat ~/sum"})
        assert usable.json()["data"]["stdout"] == "42\n"


def test_on_a_full_disk_a_checkpoint_is_made_and_gone_back_to(abused: Sandbox) -> None:
    run = {"command": "cat /dev/zero > ~/big; head -c 100000 /dev/zero > /home/gem/more"}
    assert "No space left" in abused.request("POST", "/v1/bash/exec", json=run).json()["data"]["stderr"]
    copied = abused.request("POST", "/v1/checkpoints", json={"label": "full"})
    assert copied.status_code == 429, copied.text
    assert 'mode "stop" needs none' in copied.json()["message"]
    full = abused.request("POST", "/v1/checkpoints", json={"label": "full", "mode": "stop"})
    assert full.status_code == 200, full.text
    back = abused.request("POST", "/v1/checkpoints/image/restore", json={"keep": False})
    assert back.status_code == 200, back.text
    assert abused.request("DELETE", f"/v1/checkpoints/{full.json()['data']['checkpoint']['id']}").status_code == 200
    until(lambda: get(abused, "/v1/box")["reserved"])
    assert abused.run("sh", "-c", "head -c 1000000 /dev/zero > ~/fits").code == 0


def test_what_lasts_is_told_by_the_doctor(abused: Sandbox) -> None:
    abused.request("POST", "/v1/bash/exec", json={"command": "cat /dev/zero > ~/big; sleep 600", "async_mode": True})
    until(lambda: "disk: " in incident_check(abused)["detail"])
    assert (incident_check(abused)["status"], incident_check(abused)["hint"] is None) == ("lost", False)
    abused.request("POST", "/v1/checkpoints/image/restore", json={"keep": False})
    until(lambda: incident_check(abused)["status"] == "holds")


def test_memory_has_a_limit_of_the_agents_own(abused: Sandbox) -> None:
    launcher = new_launcher("limited")
    try:
        sandbox = launcher.start(env={"BOX_MAX_MEMORY_BYTES": str(256 << 20)})
        alone = sandbox.run("python3", "-c", "x = bytearray(300 << 20)")
        assert "MemoryError" in alone.stderr
        together = f"for _ in 1 2 3; do python3 -c 'x = bytearray(150 << 20); {HELD}' & done; wait"
        sandbox.request("POST", "/v1/bash/exec", json={"command": together, "async_mode": True})
        until(lambda: "was ended" in str(get(sandbox, "/v1/box")["incidents"]))
    finally:
        launcher.remove()
