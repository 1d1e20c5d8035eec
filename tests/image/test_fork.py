"""A sandbox that starts from another one's checkpoint, and one that cannot, and says why."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.download_server import DownloadServer, serving
from tests.image.conftest import new_launcher
from tests.image.container import KEY, Launcher, Sandbox, engine
from tests.image.test_profiles import PASSPHRASE, serve_site, visit
from tests.patience import until

Start = Callable[..., Sandbox]
PAGE = """<title>form</title><body style="height: 5000px">
<input id=name><textarea id=text></textarea><input type=checkbox id=yes><select id=choice><option>a<option>b<option>c</select>
<input type=password id=password><input id=otp name=one-time-code>"""
FILLED = """document.getElementById('name').value = 'Mia'; document.getElementById('text').value = 'two\\nlines';
document.getElementById('yes').checked = true; document.getElementById('choice').selectedIndex = 2;
document.getElementById('password').value = 'hunter2-password'; document.getElementById('otp').value = '424242';
scrollTo(0, 1234); scrollY"""
READ = """JSON.stringify([document.getElementById('name').value, document.getElementById('text').value,
document.getElementById('yes').checked, document.getElementById('choice').selectedIndex, document.getElementById('password').value,
document.getElementById('otp').value, scrollY])"""
PAGE_PATH = "/home/gem/form.html"


@dataclass(frozen=True)
class Origin:
    """A sandbox that was forked, the answers, and the archives."""

    sandbox: Sandbox
    launcher: Launcher
    checkpoint: str
    fork: dict[str, Any]
    plain: bytes
    profiled: bytes


def ask(sandbox: Sandbox, method: str, path: str, status: int = 200, **body: object) -> Any:
    """The data of an answer with that status."""
    answer = sandbox.request(method, path, **({"json": body} if method == "POST" else {}))
    assert answer.status_code == status, answer.text
    return answer.json().get("data")


def work_in(sandbox: Sandbox) -> None:
    """Do what a fork shall have: files, shells, a program, tabs with a form, a login."""
    sandbox.run("sh", "-c", f"echo mine > ~/file; sudo sh -c 'echo root > /etc/of-root'; printf %s '{PAGE}' > {PAGE_PATH}")
    ask(
        sandbox,
        "POST",
        "/v1/shell/exec",
        id="work",
        command="mkdir -p ~/deep/er; cd ~/deep/er; export MARK='a \"b\" c' KEY_TOKEN=abcdef1234567890",
    )
    ask(sandbox, "POST", "/v1/shell/exec", id="work", command="echo on-the-screen")
    ask(sandbox, "POST", "/v1/bash/exec", command="sleep 86399", exec_dir="/usr", async_mode=True)
    serve_site(sandbox)
    assert visit(sandbox, "/sign-in") == "signed out"
    assert visit(sandbox) == "signed in"
    ask(sandbox, "POST", "/v1/browser/tabs", url=f"file://{PAGE_PATH}")
    sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": FILLED}).raise_for_status()


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    launcher = new_launcher("origin")
    try:
        sandbox = launcher.start()
        work_in(sandbox)
        checkpoint = ask(sandbox, "POST", "/v1/checkpoints", label="fork me")["checkpoint"]["id"]
        fork = ask(sandbox, "POST", f"/v1/checkpoints/{checkpoint}/fork")
        profiled = ask(sandbox, "POST", f"/v1/checkpoints/{checkpoint}/fork", profile=True, passphrase=PASSPHRASE)
        plain, with_profile = (sandbox.request("GET", f"/v1/forks/{each['id']}").content for each in (fork, profiled))
        yield Origin(sandbox, launcher, checkpoint, fork, plain, with_profile)
    finally:
        launcher.remove()


def host() -> str:
    """The name by which sandboxes reach this program."""
    return os.environ["TANDEM_RUN"]


def values(sandbox: Sandbox) -> list[Any]:
    """What the form in front has, and how far it is scrolled."""
    answer = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": READ})
    found: list[Any] = json.loads(answer.json()["data"]) if answer.is_success else []
    return found


def is_filled(sandbox: Sandbox) -> bool:
    """Whether the form has what it had, without secrets."""
    return values(sandbox) == ["Mia", "two\nlines", True, 2, "", "", 1234]


def told_values(sandbox: Sandbox) -> str:
    """What it has instead."""
    return str(values(sandbox))


def identity(sandbox: Sandbox) -> str:
    """The id by which others know a sandbox."""
    return str(sandbox.request("GET", "/v1/sandbox").json()["binding"]["sandbox_id"])


def ends(sandbox: Sandbox, *reasons: str) -> None:
    """It does not start, and says why in one line."""
    until(lambda: sandbox.inspect("{{.State.Status}}") == "exited")
    assert sandbox.inspect("{{.State.ExitCode}}") == "7", sandbox.logs()
    [line] = [line for line in sandbox.logs().splitlines() if line.startswith("boot: SANDBOX_RESTORE:")]
    assert all(reason in line for reason in reasons), line
    assert "hidden-from-logs" not in sandbox.logs()


def test_a_checkpoint_tells_its_shells_tabs_and_programs_and_starts_one_again(origin: Origin) -> None:
    told = ask(origin.sandbox, "GET", f"/v1/checkpoints/{origin.checkpoint}")
    assert {"id": "work", "directory": "/home/gem/deep/er"} in told["shells"]
    assert [(tab["url"], tab["front"], tab["y"], tab["fields"]) for tab in told["tabs"]][-1] == (f"file://{PAGE_PATH}", True, 1234, 4)
    [sleeping] = [each for each in told["programs"] if each["argv"] == ["sleep", "86399"]]
    assert (sleeping["directory"], sleeping["uid"], sleeping["startable"]) == ("/usr", 1000, True)
    path = f"/v1/checkpoints/{origin.checkpoint}/programs"
    started = ask(origin.sandbox, "POST", f"{path}/{sleeping['number']}/start")
    assert started["session_id"]
    until(lambda: origin.sandbox.run("pgrep", "-fc", "^sleep 86399").stdout.strip() == "2")
    ask(origin.sandbox, "POST", f"{path}/999/start", status=404)
    ask(origin.sandbox, "GET", "/v1/checkpoints/00000000", status=404)
    ask(origin.sandbox, "POST", "/v1/checkpoints/00000000/fork", status=404)


def test_nothing_secret_is_in_an_archive(origin: Origin) -> None:
    with tarfile.open(fileobj=io.BytesIO(origin.plain)) as told:
        assert told.getnames() == ["tandem-fork.json", "state.json", "checkpoint.tar.gz"]
        with tarfile.open(fileobj=told.extractfile("checkpoint.tar.gz")) as inner:
            contents = [origin.plain, *(file.read() for each in inner if each.isreg() and (file := inner.extractfile(each)))]
    token = origin.sandbox.exec("cat", "/run/sandbox/agent-token").stdout.strip()
    session_key = origin.sandbox.exec("cat", "/run/sandbox/session-key").stdout.strip()
    assert token
    assert session_key
    for secret in (KEY, token, session_key, identity(origin.sandbox), "hunter2-password", "424242", "abcdef1234567890"):
        assert not any(secret.encode() in content for content in contents), secret
    assert hashlib.sha256(origin.plain).hexdigest() == origin.fork["sha256"]


@pytest.mark.slow
def test_two_sandboxes_start_from_one_archive_over_connections_that_are_cut(origin: Origin, start_sandbox: Start) -> None:
    with serving(DownloadServer(origin.plain, cut_after=len(origin.plain) // 3)) as server:
        given = {"SANDBOX_RESTORE": server.source(host()), "SANDBOX_RESTORE_AUTHORIZATION": "Bearer of-the-store"}
        first, second = start_sandbox(env=given), start_sandbox(env=given)
        asked = server.asked
    assert [each.get("range") for each in asked[:3]] == [None, *(f"bytes={n * (len(origin.plain) // 3)}-" for n in (1, 2))]
    assert {each["authorization"] for each in asked} == {"Bearer of-the-store"}
    for sandbox in (first, second):
        assert sandbox.run("sh", "-c", "cat ~/file /etc/of-root").stdout == "mine\nroot\n"
        told = ask(sandbox, "POST", "/v1/shell/exec", id="work", command='echo "$PWD,$MARK,$KEY_TOKEN"')
        assert told["output"] == '/home/gem/deep/er,a "b" c,\n'
        assert "on-the-screen" in json.dumps(ask(sandbox, "POST", "/v1/shell/view", id="work"))
        until(partial(is_filled, sandbox), told=partial(told_values, sandbox))
        serve_site(sandbox)
        assert visit(sandbox) == "signed out"
        assert "of-the-store" not in sandbox.run("env").stdout
    assert len({identity(each) for each in (origin.sandbox, first, second)}) == 3
    first.run("sh", "-c", "echo changed > ~/file")
    assert second.run("cat", "file").stdout == "mine\n"
    first.stop()
    engine("start", first.name)
    first.wait_ready()
    assert first.run("cat", "file").stdout == "changed\n", "what was restored is not restored again over what was done since"
    assert "was restored here before" in first.logs()


@pytest.mark.slow
def test_a_profile_goes_along_where_it_was_asked_for(origin: Origin, start_sandbox: Start) -> None:
    with serving(DownloadServer(origin.profiled)) as server:
        given = {"SANDBOX_RESTORE": server.source(host()), "SANDBOX_RESTORE_PASSPHRASE": PASSPHRASE}
        sandbox = start_sandbox(env=given)
        wrong = start_sandbox(env=given | {"SANDBOX_RESTORE_PASSPHRASE": "another passphrase"}, ready=False)
        ends(wrong, "the passphrase is another one")
        missing = start_sandbox(env={"SANDBOX_RESTORE": server.source(host())}, ready=False)
        ends(missing, "SANDBOX_RESTORE_PASSPHRASE must be set")
    serve_site(sandbox)
    assert visit(sandbox) == "signed in"
    assert [each["name"] for each in ask(sandbox, "GET", "/v1/profiles")["profiles"] if each["in_use"]] == ["restored"]


@pytest.mark.slow
def test_another_sandbox_starts_right_from_the_one_that_was_forked(origin: Origin, start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"SANDBOX_RESTORE": origin.fork["restore"], "SANDBOX_RESTORE_AUTHORIZATION": f"Bearer {KEY}"})
    assert sandbox.run("cat", "file").stdout == "mine\n"
    refused = start_sandbox(env={"SANDBOX_RESTORE": origin.fork["restore"]}, ready=False)
    ends(refused, "the server answers 401")


BAD: dict[str, tuple[Callable[[bytes], DownloadServer], str, str]] = {
    "another digest": (lambda good: DownloadServer(good), "0" * 64, "its SHA-256 is"),
    "a server that hangs": (lambda good: DownloadServer(good, hangs=True), "", "it was not there in time"),
    "a part that is cut": (lambda good: DownloadServer(good[:-20000]), "", "it is cut off"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BAD)
def test_a_sandbox_that_cannot_be_restored_does_not_start_empty_and_says_why(origin: Origin, start_sandbox: Start, what: str) -> None:
    make, digest, reason = BAD[what]
    with serving(make(origin.plain)) as server:
        given = {"SANDBOX_RESTORE": server.source(host(), digest), "SANDBOX_RESTORE_SECONDS": "8"}
        ends(start_sandbox(env=given, ready=False), reason)


@pytest.mark.slow
def test_a_volume_with_another_box_is_left_as_it_is(origin: Origin, start_sandbox: Start) -> None:
    lost = start_sandbox()
    lost.run("sh", "-c", "echo precious > ~/mine")
    lost.stop()
    with serving(DownloadServer(origin.plain)) as server:
        args = (f"--volumes-from={lost.name}",)
        ends(start_sandbox(env={"SANDBOX_RESTORE": server.source(host())}, args=args, ready=False), "the volume has another box already")
    again = start_sandbox(args=args)
    assert again.run("cat", "mine").stdout == "precious\n"
