"""A checkpoint leaves what runs alone; a pause of the agent leaves the desktop and people's shells alone."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.image.test_box import bash, post
from tests.image.test_control import Person
from tests.patience import until

SERVER = "mkdir -p ~/site && cd ~/site && echo served > index.html && exec python3 -m http.server 3456"
BRIEF_SECONDS = 1.0
"""What a pause may last on a machine that is busy with other things; the benchmark measures it on one that is not."""


@pytest.fixture(scope="module")
def working() -> Iterator[Sandbox]:
    """A container in which an agent works."""
    launcher = new_launcher("working")
    try:
        sandbox = launcher.start()
        bash(sandbox, SERVER, async_mode=True)
        until(lambda: bash(sandbox, "curl -s http://127.0.0.1:3456/")["stdout"] == "served\n")
        yield sandbox
    finally:
        launcher.remove()


def python(sandbox: Sandbox, session: str, code: str) -> str:
    """Run code in a kernel that stays."""
    text: str = post(sandbox, "/v1/jupyter/execute", session_id=session, code=code)["outputs"][-1]["text"]
    return text


def checkpoint(sandbox: Sandbox, **request: object) -> dict[str, Any]:
    return post(sandbox, "/v1/checkpoints", **request)


def test_a_server_a_shell_a_kernel_and_a_page_go_on_after_a_checkpoint(working: Sandbox) -> None:
    post(working, "/v1/shell/exec", id="kept", command="plain=still; cd ~/site")
    session = post(working, "/v1/jupyter/sessions/create")["session_id"]
    post(working, "/v1/jupyter/execute", session_id=session, code="kept = 41")
    post(working, "/v1/browser/page/navigate", url="http://127.0.0.1:3456/")
    working.request("POST", "/v1/browser/page/evaluate", json={"expression": "window.kept = 'here'"}).raise_for_status()
    before = bash(working, "pgrep -fx 'python3 -m http.server 3456'; pgrep -o tmux")["stdout"]
    made = checkpoint(working, label="while it works")
    assert (made["mode"], made["stopped"], made["reopened"]) == ("live", [], [])
    assert bash(working, "pgrep -fx 'python3 -m http.server 3456'; pgrep -o tmux")["stdout"] == before
    assert bash(working, "curl -s http://127.0.0.1:3456/")["stdout"] == "served\n"
    assert post(working, "/v1/shell/exec", id="kept", command='echo "$plain $PWD"')["output"] == "still /home/gem/site\n"
    assert python(working, session, "print(kept + 1)") == "42\n"
    page = working.request("POST", "/v1/browser/page/evaluate", json={"expression": "window.kept"})
    assert page.json()["data"] == "here", page.text


def test_a_pause_is_brief(working: Sandbox) -> None:
    """One of several: what else the machine does makes some of them longer."""
    pauses: list[float] = []

    def is_brief() -> bool:
        pauses.append(checkpoint(working)["pause_ms"])
        return pauses[-1] < BRIEF_SECONDS * 1000

    until(is_brief, told=lambda: str(pauses))


def test_a_connection_outlives_a_checkpoint(working: Sandbox) -> None:
    talk = (
        "import socket, time\na = socket.create_server(('127.0.0.1', 0))\n"
        "b = socket.create_connection(a.getsockname())\nc, _ = a.accept()\n"
        "while True: b.sendall(b'x'); assert c.recv(1) == b'x'; open('/home/gem/beats', 'a').write('.'); time.sleep(0.02)"
    )
    bash(working, f'python3 -c "{talk}"', async_mode=True)
    until(lambda: bash(working, "test -s ~/beats")["exit_code"] == 0)
    checkpoint(working)
    beats = int(bash(working, "wc -c < ~/beats")["stdout"])
    until(lambda: int(bash(working, "wc -c < ~/beats")["stdout"]) > beats)


def test_what_is_kept_comes_back_and_who_watches_is_told(working: Sandbox) -> None:
    bash(working, "echo before > ~/file")
    made = checkpoint(working, label="before")["checkpoint"]["id"]
    bash(working, "echo after > ~/file; mkdir ~/new; echo 12345 > ~/new/inner")
    tree = working.request("GET", "/v1/checkpoints/current/tree?under=/home/gem").json()["data"]["entries"]
    assert {one["name"]: one["change"] for one in tree if one["name"] in ("file", "new")} == {"file": "changed", "new": "added"}
    preview = working.request("GET", f"/v1/checkpoints/{made}/restore").json()["data"]
    assert any("http.server" in one["command"] for one in preview["stops"])
    restored = post(working, f"/v1/checkpoints/{made}/restore")
    assert any("http.server" in one["command"] for one in restored["stopped"])
    assert bash(working, "cat ~/file; ls -d ~/new")["stdout"] == "before\n"

    def told() -> dict[str, str]:
        events = working.request("GET", "/v1/recorder/events?kind=control&limit=1000").json()["data"]["events"]
        return {one.get("event"): one.get("note", "") for one in events}

    until(lambda: {"checkpoint:restored", "checkpoint:made"} <= told().keys())
    assert "programs were stopped" in told()["checkpoint:restored"]
    assert "no programs were stopped" in told()["checkpoint:made"]


def test_the_daemon_dies_and_the_next_checkpoint_is_whole(working: Sandbox) -> None:
    bash(working, "echo 1 > ~/one")
    checkpoint(working)
    working.exec("sh", "-c", "kill -9 $(pgrep -o -f 'sandbox_server box$')")
    until(lambda: working.request("GET", "/v1/checkpoints").is_success)
    until(lambda: working.request("POST", "/v1/bash/exec", json={"command": "true"}).is_success)
    bash(working, "echo 2 > ~/two; rm ~/one")
    made = checkpoint(working)["checkpoint"]["id"]
    post(working, f"/v1/checkpoints/{made}/restore", keep=False)
    assert bash(working, "cat ~/two; ls ~/one")["stdout"] == "2\n"


COUNT = "while :; do echo x >> ~/count; sleep 0.02; done"


def count(sandbox: Sandbox) -> int:
    """How far the agent's loop is, seen from outside."""
    return int(sandbox.request("GET", "/v1/file/download?path=/home/gem/count").content.count(b"\n"))


def test_a_pause_is_true_and_a_person_works_on_from_it(working: Sandbox) -> None:
    bash(working, COUNT, async_mode=True)
    until(lambda: count(working) > 0)
    until(lambda: working.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"}).is_success)  # after a restore
    person = Person(working)
    paused = person.control("freeze")
    assert paused["state"] == "frozen"
    assert paused["paused"]["count"] > 0
    assert "bash" in paused["paused"]["names"]
    before = count(working)
    time.sleep(0.3)
    assert count(working) == before
    assert working.request("POST", "/v1/bash/exec", json={"command": "true"}).status_code == 423
    taken = person.control("take", scope=["gui"])
    assert taken["state"] == "human"
    assert sorted(taken["scope"]) == ["cdp", "gui", "shell"]
    page = person.ask("POST", "/v1/browser/page/evaluate", json={"expression": "6 * 7"})
    assert page.json()["data"] == 42, page.text
    shell = person.ask("POST", "/v1/shell/exec", json={"command": "echo person"})
    assert shell.json()["data"]["output"] == "person\n", shell.text
    assert count(working) == before
    person.control("release")
    until(lambda: count(working) > before)
    assert bash(working, "echo agent")["stdout"] == "agent\n"


def test_new_acts_alone_are_stopped_where_that_is_asked_for(working: Sandbox) -> None:
    person = Person(working)
    reply = person.ask("POST", "/v1/control/freeze", json={"programs": "leave"})
    assert reply.json()["data"]["paused"] is None
    before = count(working)
    until(lambda: count(working) > before)
    person.control("thaw")
