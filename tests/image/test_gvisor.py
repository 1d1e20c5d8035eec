"""The image under gVisor, where the engine has it as a runtime: `TANDEM_GVISOR_RUNTIME` names it, else it is `runsc`."""

import json
import os
from collections.abc import Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import KEY, Sandbox, engine
from tests.image.test_box import bash, post
from tests.patience import PATIENCE_SECONDS, until

RUNTIME = os.environ.get("TANDEM_GVISOR_RUNTIME", "runsc")
LOOK = """
import os

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""

def opened(path):
    for access in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, access | os.O_NONBLOCK))
        except OSError:
            continue
        return True
    return False

def private(path):
    name = os.readlink(path)
    return (name.startswith(("/run/sandbox/", "/run/sandbox-recorder/", "/memfd:")) or "socket" in name) and opened(path)

secret = b"%s"
for pid in filter(str.isdecimal, os.listdir("/proc")):
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
        if uid == os.getuid():
            continue
        for name in ("environ", "cmdline"):
            if secret in read(f"/proc/{pid}/{name}") and b"curl" not in read(f"/proc/{pid}/cmdline"):
                print("secret in", name, "of", pid)
        for fd in os.listdir(f"/proc/{pid}/fd") if uid != %d else ():
            if private(f"/proc/{pid}/fd/{fd}"):
                print("opened", os.readlink(f"/proc/{pid}/fd/{fd}"), "of", pid, read(f"/proc/{pid}/cmdline"))
    except OSError:
        continue
    for name in ("mem", "root/etc", "cwd/etc"):
        if opened(f"/proc/{pid}/{name}"):
            print("opened", name, "of", pid)
for path in ("/run/sandbox/spawn.sock", "/run/sandbox/api.sock", "/run/sandbox-desktop/bus", "/run/sandbox-desktop/sound.sock",
             "/run/sandbox-desktop/pulse/native", "/run/sandbox-boot/supervisor.sock", "/tmp/.X11-unix/X99"):
    import socket
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as tried:
            if tried.connect_ex(path) == 0:
                print("connected to", path)
print("looked")
"""
"""What the agent reads and opens of others: the secret, the user id of whose descriptors are left out."""
DESKTOP = 991
PAGE = "data:text/html,<title>Title</title><body>seen in gVisor"


def has_runtime() -> bool:
    """Whether the engine has the runtime."""
    return RUNTIME in json.loads(engine("info", "--format", "{{json .Runtimes}}").stdout or "{}")


@pytest.fixture(scope="module")
def gvisor() -> Iterator[Sandbox]:
    """One sandbox for all tests that leave it as it was."""
    if not has_runtime():
        pytest.skip(f"the engine has no runtime {RUNTIME}: docs/install.md says how to add it")
    launcher = new_launcher("gvisor", plain=True)
    try:
        yield launcher.start(args=[f"--runtime={RUNTIME}", "--shm-size=1g", "--no-healthcheck"], env={"IDENTITY": "true"})
    finally:
        launcher.remove()


def test_every_component_is_ready_and_none_starts_twice(gvisor: Sandbox) -> None:
    assert "gVisor" in " ".join(gvisor.request("GET", "/v1/capabilities").json()["data"]["conditions"])
    logs = gvisor.logs()
    assert "EPERM" not in logs
    assert "exited" not in logs


def test_commands_files_and_code_are_there(gvisor: Sandbox) -> None:
    assert bash(gvisor, "echo $((6 * 7)); id -un")["stdout"].split() == ["42", "gem"]
    post(gvisor, "/v1/file/write", file="/tmp/gvisor.txt", content="kept")
    assert post(gvisor, "/v1/file/read", file="/tmp/gvisor.txt")["content"] == "kept"
    for expected in ("7", "8"):
        told = post(gvisor, "/v1/jupyter/execute", code="x = globals().get('x', 6) + 1; x", session_id="gvisor")
        assert told["outputs"][0]["data"]["text/plain"] == expected
    assert post(gvisor, "/v1/nodejs/execute", code="console.log(6 * 7)")["stdout"] == "42\n"


def test_a_shell_keeps_its_state_is_killed_and_has_a_hard_timeout(gvisor: Sandbox) -> None:
    assert post(gvisor, "/v1/shell/exec", id="kept", command="cd /usr; v=42; sleep 600 & echo $!")["exit_code"] == 0
    assert post(gvisor, "/v1/shell/exec", id="kept", command="echo $v $PWD")["output"] == "42 /usr\n"
    assert post(gvisor, "/v1/shell/exec", id="kept", command="tail -f /dev/null", timeout=1)["status"] == "running"
    assert post(gvisor, "/v1/shell/kill", id="kept")["status"] == "terminated"
    assert post(gvisor, "/v1/shell/exec", id="kept", command="sleep 601", hard_timeout=1)["status"] == "hard_timeout"
    assert post(gvisor, "/v1/shell/exec", id="kept", command="echo $v; jobs -r")["output"].split()[0] == "42"
    until(lambda: "sleep 601" not in bash(gvisor, "ps -eo args")["stdout"])
    assert "sleep 600" in bash(gvisor, "ps -eo args")["stdout"], "it is none of the commands that were ended"


def test_the_browser_shows_pages_and_the_screen(gvisor: Sandbox) -> None:
    gvisor.show(PAGE)
    assert "seen in gVisor" in gvisor.request("GET", "/v1/browser/page/text").text
    picture = gvisor.request("GET", "/v1/screen/screenshot")
    assert (picture.status_code, picture.headers["content-type"].startswith("image/"), len(picture.content) > 4096) == (200, True, True)
    gvisor.show("chrome://sandbox")
    assert "You are adequately sandboxed" in gvisor.request("GET", "/v1/browser/page/text").text
    for page in ("/vnc/index.html", "/stream/", "/view", "/terminal"):
        assert gvisor.request("GET", page).status_code == 200, page


def test_the_browser_follows_no_link_of_the_agents(gvisor: Sandbox) -> None:
    bash(gvisor, "ln -sfn /run/sandbox-desktop /tmp/link")
    refused = gvisor.request("POST", "/v1/browser/page/navigate", json={"url": "file:///tmp/link/"})
    assert refused.status_code == 409
    assert "authority" not in gvisor.request("GET", "/v1/browser/page/text").text


def test_the_agent_finds_no_secret_and_no_way_to_others(gvisor: Sandbox) -> None:
    assert post(gvisor, "/v1/file/write", file="/tmp/look.py", content=LOOK % (KEY, DESKTOP))
    looked = post(gvisor, "/v1/bash/exec", command="python3 -I /tmp/look.py", timeout=PATIENCE_SECONDS)
    assert (looked["stdout"], looked["stderr"]) == ("looked\n", "")


def test_the_identity_s_socket_is_the_agents_alone(gvisor: Sandbox) -> None:
    asked = ["curl", "-sS", "--unix-socket", "/run/sandbox-agent/identity/identity.sock", "http://localhost/token?audience=gvisor"]
    assert "token" in json.loads(gvisor.run(*asked).stdout)
    for other in ("desktop", "proxy", "nobody"):
        assert gvisor.exec(*asked, user=other).code == 7, other


def test_the_doctor_says_what_differs_and_names_no_flag_that_cannot_help(gvisor: Sandbox) -> None:
    checks = {check["name"]: check for check in gvisor.request("GET", "/v1/doctor").json()["data"]["checks"]}
    assert {name for name in ("separate_users", "host_kernel", "browser_sandbox", "desktop") if checks[name]["status"] != "holds"} == set()
    lost = {name for name, check in checks.items() if check["status"] == "lost"}
    assert {"box", "isolation", "isolated_signals", "sudo", "egress_policy", "open_descriptors", "environments"} <= lost
    assert "no undo" in checks["box"]["detail"]
    assert "SANDBOX_API_KEY" in checks["environments"]["detail"]
    assert "WebSocket" in checks["stream_udp"]["detail"]
    assert not [check for check in checks.values() if "--security-opt" in str(check["hint"])]
    assert not gvisor.request("GET", "/v1/capabilities").json()["data"]["flags"]


def test_a_policy_for_one_command_is_refused_and_nothing_is_run(gvisor: Sandbox) -> None:
    asked = {"command": "touch /tmp/was-run", "isolation": {"network": {"allowed_domains": ["example.com"]}}}
    assert gvisor.request("POST", "/v1/bash/exec", json=asked).status_code == 409
    assert bash(gvisor, "test -e /tmp/was-run")["exit_code"] == 1
