"""Hosts that allow no box: the container says what is lost, and gives away nothing for it."""

from collections.abc import Callable, Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox, engine
from tests.patience import until

Start = Callable[..., Sandbox]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """Starts containers without what the box needs."""
    made = new_launcher("unboxed", boxed=False)
    try:
        yield made
    finally:
        made.remove()


@pytest.mark.slow
def test_a_host_that_allows_no_box_gets_the_next_isolation_level_and_is_told(launcher: Launcher) -> None:
    sandbox = launcher.start()
    told = sandbox.request("GET", "/v1/capabilities").json()["data"]
    assert told["rung"] == "users"
    assert told["reason"]
    assert any("systempaths" in flag for flag in told["flags"])
    assert "no box for the agent" in sandbox.logs()
    refused = sandbox.request("POST", "/v1/checkpoints", json={})
    assert refused.status_code == 409


def test_a_box_that_is_required_and_cannot_be_had_stops_the_boot(launcher: Launcher) -> None:
    required = launcher.start(env={"BOX": "on"}, ready=False)
    until(lambda: required.inspect("{{.State.Running}}") == "false")
    assert "BOX=on" in required.logs()


def test_root_is_withheld_where_the_host_s_settings_are_open_and_there_is_no_box(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"BOX": "off"})
    run = sandbox.request("POST", "/v1/bash/exec", json={"command": "sudo -n id -u"}).json()["data"]
    assert run["exit_code"] != 0
    assert not sandbox.request("GET", "/v1/capabilities").json()["data"]["agent_may_be_root"]


@pytest.fixture(scope="module")
def alone(launcher: Launcher) -> Sandbox:
    """A container without a box, in which the agent may not become root."""
    return launcher.start(env={"BOX": "off", "ALLOW_SUDO": "false"})


def told(sandbox: Sandbox, url: str) -> str:
    """What the browser makes of an address: an error's name, or the text of the page."""
    reply = sandbox.request("POST", "/v1/browser/page/navigate", json={"url": url})
    if reply.status_code != 200:
        return str(reply.json()["data"]["error"])
    return sandbox.request("GET", "/v1/browser/page/text").text


def test_without_a_box_the_browser_shows_the_agents_files_and_follows_none_of_its_links(alone: Sandbox) -> None:
    made = "echo '<body>by the agent</body>' >/tmp/page.html; ln -s /run/sandbox-desktop /tmp/link; ln -s /run/sandbox-desktop ~/link"
    assert alone.run("sh", "-c", f"{made}; mkdir ~/d; ln -s ../link ~/d/again; ln -s /tmp/page.html /tmp/own.html").code == 0
    assert "by the agent" in told(alone, "file:///tmp/page.html")
    for address in ("/tmp/link/", "/tmp/link/authority", "/home/gem/link/", "/home/gem/d/again/", "/tmp/own.html"):
        answer = told(alone, f"file://{address}")
        assert "ERR_" in answer, answer
        assert "authority" not in answer


def test_without_a_box_no_process_beside_the_agents_can_be_ended_or_traced(alone: Sandbox) -> None:
    tries = """import ctypes, os, signal
ptrace, wrong = ctypes.CDLL(None).ptrace, []
def went(pid, uid):  # one that is started for the agent is root's at first: it counts if it is another's still
    if os.stat(f"/proc/{pid}").st_uid == uid: wrong.append((pid, uid))
for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
        if uid == os.getuid(): continue
        for what in (lambda: os.kill(pid, 0), lambda: open(f"/proc/{pid}/environ", "rb").read(1), lambda: open(f"/proc/{pid}/mem", "rb"),
                     lambda: os.listdir(f"/proc/{pid}/fd"), lambda: os.readlink(f"/proc/{pid}/root")):
            try: what(); went(pid, uid)
            except PermissionError: pass
        if ptrace(16, pid, 0, 0) == 0: went(pid, uid)
    except (FileNotFoundError, ProcessLookupError): pass
print(wrong)"""
    assert alone.run("python3", "-c", tries).stdout == "[]\n"


def test_without_a_box_nothing_that_the_agent_leaves_in_tmp_keeps_the_desktop_from_starting(alone: Sandbox) -> None:
    assert alone.exec("sh", "-c", "rm -rf /tmp/.X11-unix; ln -s /home/gem /tmp/.X11-unix; chown -h gem /tmp/.X11-unix").code == 0
    engine("restart", "--time", "20", alone.name)
    alone.wait_ready()
    assert alone.request("GET", "/v1/screen/screenshot").status_code == 200
