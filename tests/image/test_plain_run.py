"""The image without any flag of the engine's: what works, what is said to be missing, and what a browser that is taken over reaches."""

import json
from collections.abc import Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox
from tests.image.test_box import bash, post
from tests.patience import until

ATTACK = """#!/usr/bin/python3 -I
import ctypes, json, os, sys
home, went, ptrace = os.environ["HOME"], [], ctypes.CDLL(None).ptrace

def attempt(name, attack):
    try:
        attack()
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return
    except OSError as error:
        name = f"{name}: {error}"
    went.append(name)

def memory(pid, name):
    open(f"/proc/{pid}/{name}", "rb").read(0 if name == "mem" else 1)
    try:
        pages = open(f"/proc/{pid}/statm").read()
    except PermissionError:
        pages = ""
    if pages.startswith("0 "):
        raise ProcessLookupError  # it is ending: what opens then is empty

def trace(pid):
    if ptrace(16, pid, 0, 0):
        raise PermissionError
    ptrace(17, pid, 0, 0)

def execute():
    with open(f"{home}/program", "w") as file:
        file.write("#!/bin/sh")
    os.chmod(f"{home}/program", 0o755)
    pid = os.posix_spawn(f"{home}/program", [f"{home}/program"], {})
    os.waitpid(pid, 0)

for path in ("/run/sandbox", "/run/sandbox-boot", "/run/sandbox-recorder", "/run/sandbox-agent", "/opt/tandem", "/root", "/var/log"):
    attempt(f"list {path}", lambda: os.listdir(path))
for path in ("/run/sandbox/api-key", "/run/sandbox/environ.json", "/opt/tandem/sandbox_server/app.py"):
    attempt(f"read {path}", lambda: open(path).read(1))
for path in ("/run/made", "/var/log/gem/made", "/usr/made", "/etc/made", "/opt/tandem/made"):
    attempt(f"write {path}", lambda: open(path, "w"))
attempt("execute what it wrote", execute)
for pid in (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()):
    for name in ("environ", "mem", "maps"):
        attempt(f"read {name} of {pid}", lambda: memory(pid, name))
    attempt(f"read a descriptor of {pid}", lambda: os.readlink(f"/proc/{pid}/fd/0"))
    attempt(f"open a descriptor of {pid}", lambda: open(f"/proc/{pid}/fd/0"))
    attempt(f"list the root of {pid}", lambda: os.listdir(f"/proc/{pid}/root/"))
    attempt(f"adjust {pid}", lambda: open(f"/proc/{pid}/oom_score_adj", "w"))
    attempt(f"signal {pid}", lambda: os.kill(pid, 0))
    attempt(f"trace {pid}", lambda: trace(pid))
with open(f"{home}/outcome.json", "w") as file:
    json.dump(went, file)
if len(sys.argv) > 1:
    os.execv("/usr/lib/chromium/chromium", ["chromium", *sys.argv[1:]])
"""
"""What a browser tries once it is taken over, in the browser's own place: it then becomes the browser."""
TAKEN_OVER = "/usr/lib/chromium/taken-over"
OUTCOME = "/run/sandbox-desktop/outcome.json"
SAVE = """(() => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(['saved'])); link.download = 'saved.txt'; link.click();
})()"""


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """Starts containers without any flag."""
    made = new_launcher("plain", plain=True)
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def plain(launcher: Launcher) -> Sandbox:
    """One for all tests that leave it as it was."""
    return launcher.start(env={"BROWSER_EXECUTABLE_PATH": TAKEN_OVER}, files={TAKEN_OVER: ATTACK})


def test_pages_open_and_are_seen(plain: Sandbox) -> None:
    plain.show("data:text/html,<title>Plain</title><body>seen without a flag")
    assert "seen without a flag" in plain.request("GET", "/v1/browser/page/text").text
    picture = plain.request("GET", "/v1/screen/screenshot")
    assert (picture.status_code, picture.headers["content-type"].startswith("image/"), len(picture.content) > 4096) == (200, True, True)
    assert plain.request("GET", "/json/version").status_code == 200


def test_what_the_browser_saves_is_the_agent_s(plain: Sandbox) -> None:
    plain.show("data:text/html,a page that saves")
    post(plain, "/v1/browser/page/evaluate", expression=SAVE)
    until(lambda: bash(plain, "cat ~/Downloads/saved.txt && echo more >> ~/Downloads/saved.txt")["stdout"] == "saved")


def test_shells_files_code_and_root_are_there(plain: Sandbox) -> None:
    assert bash(plain, "sudo id -u")["stdout"].strip() == "0"
    assert post(plain, "/v1/jupyter/execute", code="6 * 7")["status"] == "ok"
    post(plain, "/v1/file/write", file="/tmp/plain.txt", content="kept")
    assert post(plain, "/v1/file/read", file="/tmp/plain.txt")["content"] == "kept"


def test_chromium_says_that_its_filter_is_on_and_which_layer_is_not(plain: Sandbox) -> None:
    plain.show("chrome://sandbox")
    said = plain.request("GET", "/v1/browser/page/text").json()["data"]
    assert "Seccomp-BPF sandbox\tYes" in said
    assert "PID namespaces\tNo" in said
    assert "--no-sandbox" not in plain.exec("ps", "-eo", "args").stdout


def test_what_is_missing_is_said_by_the_doctor_and_by_the_log(plain: Sandbox) -> None:
    checks = {check["name"]: check for check in plain.request("GET", "/v1/doctor").json()["data"]["checks"]}
    assert {"box", "user_namespaces", "browser_sandbox"} <= {name for name, check in checks.items() if check["status"] == "lost"}
    assert "Landlock and seccomp-BPF" in checks["browser_sandbox"]["detail"]
    assert "seccomp=" in checks["browser_sandbox"]["hint"]
    assert "Chromium runs without namespaces" in plain.logs()
    assert "no box for the agent" in plain.logs()


def test_the_browser_shows_no_files_where_links_cannot_be_kept_from_it(plain: Sandbox) -> None:
    bash(plain, "ln -sfn /run/sandbox-desktop /tmp/link; echo own > /tmp/own.txt")
    for address in ("file:///tmp/link/", "file:///tmp/own.txt"):
        assert (
            plain.request("POST", "/v1/browser/page/navigate", json={"url": address}).json()["data"]["error"]
            == "ERR_BLOCKED_BY_ADMINISTRATOR"
        )


def outcome(sandbox: Sandbox) -> list[str]:
    """What went through of the attack that ran last."""
    went: list[str] = json.loads(sandbox.exec("cat", OUTCOME).stdout)
    return went


def attack_without_landlock(sandbox: Sandbox, user: str) -> list[str]:
    """The same attack by the same user, of which Landlock does not know."""
    done = sandbox.exec("env", "HOME=/run/sandbox-desktop", TAKEN_OVER, user=user)
    assert done.code == 0, done.stderr
    return outcome(sandbox)


def test_a_browser_that_is_taken_over_reaches_nothing_beside_its_own(plain: Sandbox) -> None:
    assert outcome(plain) == []
    without = attack_without_landlock(plain, "desktop")
    assert {"list /opt/tandem", "execute what it wrote"} <= set(without)
    assert any(name.startswith("read mem of") for name in without)


@pytest.mark.slow
def test_landlock_alone_keeps_the_keys_from_it_where_everybody_is_one_user(launcher: Launcher) -> None:
    alike = launcher.start(env={"BROWSER_EXECUTABLE_PATH": TAKEN_OVER}, files={TAKEN_OVER: ATTACK}, args=["--user=1000"])
    alike.show("data:text/html,one user")
    assert outcome(alike) == []
    without = attack_without_landlock(alike, "1000")
    assert {"list /run/sandbox", "read /run/sandbox/environ.json"} <= set(without)
    assert any(name.startswith("read environ of") for name in without)


@pytest.mark.slow
def test_without_the_library_that_fences_the_zygote_no_page_is_rendered(launcher: Launcher) -> None:
    broken = launcher.start(files={"/usr/lib/chromium/zygote-fence.so": "none"}, ready=False)
    until(lambda: "the browser ended" in broken.logs())
    assert broken.request("GET", "/json/version").status_code == 503
