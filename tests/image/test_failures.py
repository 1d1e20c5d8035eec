"""What fails beside the agent's own mischief: the supervisor, the engine's pause, the box's volume. docs/failures.md lists the rest."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.image.container import Sandbox, engine
from tests.image.test_browser_chaos import works
from tests.patience import until

type Start = Callable[..., Sandbox]
END_SECONDS = 10.0
PAUSE_SECONDS = 35
"""Longer than the browser may take to answer."""
BUSY = "for n in 1 2 3 4 5 6 7 8; do timeout 120 sh -c 'while :; do :; done' >/dev/null 2>&1 & done"


@contextmanager
def started_again(sandbox: Sandbox) -> Iterator[None]:
    """A container that has ended is started again."""
    try:
        yield
    finally:
        engine("start", sandbox.name)
        sandbox.wait_ready()


def parts(sandbox: Sandbox) -> list[str]:
    """The ids of the supervisor, of what it has started, and of the browser."""
    supervisor = sandbox.exec("pgrep", "-P", "1", "-f", "sandbox_server boot").stdout.strip()
    started = sandbox.exec("pgrep", "-P", supervisor).stdout.split()
    return [supervisor, *started, sandbox.exec("pgrep", "-o", "-f", "remote-debugging-pipe").stdout.strip()]


@pytest.mark.slow
def test_without_its_supervisor_a_busy_container_ends_and_starts_again_with_its_files(mended: Sandbox) -> None:
    mended.run("sh", "-c", "echo kept > ~/of-before")
    mended.run("sh", "-c", BUSY)
    with started_again(mended):
        killed = time.monotonic()
        assert mended.exec("sh", "-c", "kill -9 $(pgrep -P 1 -f 'sandbox_server boot')").code in (0, 137)
        until(lambda: mended.inspect("{{.State.Status}}") == "exited")
        assert time.monotonic() - killed < END_SECONDS
    assert mended.run("sh", "-c", "cat ~/of-before").stdout == "kept\n"


@pytest.mark.slow
def test_after_a_pause_everything_goes_on_with_the_processes_of_before(mended: Sandbox) -> None:
    until(lambda: works(mended))
    shell = {"id": "paused", "command": "kept=yes"}
    assert mended.request("POST", "/v1/shell/exec", json=shell).json()["data"]["exit_code"] == 0
    before = parts(mended)
    engine("pause", mended.name)
    time.sleep(PAUSE_SECONDS)
    engine("unpause", mended.name)
    assert mended.request("POST", "/v1/shell/exec", json=shell | {"command": "echo $kept"}).json()["data"]["output"] == "yes\n"
    until(lambda: works(mended))
    until(lambda: mended.answers("/readyz"))
    assert parts(mended) == before


@pytest.mark.slow
def test_an_emptied_volume_is_called_so_and_a_restart_makes_a_new_box(mended: Sandbox) -> None:
    mended.run("sh", "-c", "echo lost > ~/of-before")
    try:
        mended.exec("find", "/sandbox", "-mindepth", "1", "-delete")
        refused = mended.request("POST", "/v1/checkpoints", json={})
        assert (refused.status_code, "the box's volume was emptied" in refused.json()["message"]) == (503, True)
        checks = mended.request("GET", "/v1/doctor").json()["data"]["checks"]
        assert "volume was emptied" in next(check["detail"] for check in checks if check["name"] == "box_storage")
        assert works(mended)
    finally:
        engine("restart", mended.name)
        mended.wait_ready()
    assert mended.run("sh", "-c", "cat ~/of-before || echo new > ~/after && cat ~/after").stdout == "new\n"
    assert mended.request("POST", "/v1/checkpoints", json={}).status_code == 200


def test_with_a_home_of_another_user_the_container_does_not_start_and_says_whose_it_is(start_sandbox: Start) -> None:
    sandbox = start_sandbox(args=["--user=100123:0", "--mount=type=volume,destination=/home/gem,volume-nocopy"], ready=False)
    until(lambda: sandbox.inspect("{{.State.Status}}") == "exited")
    assert sandbox.inspect("{{.State.ExitCode}}") == "6"
    assert "user 100123 may not write the agent's home /home/gem, which is of user 0 and group 0" in sandbox.logs()
    assert "Traceback" not in sandbox.logs()


def test_with_a_damaged_volume_the_container_does_not_start_and_says_why(start_sandbox: Start) -> None:
    damage = {"/sandbox/state.json": "{"}
    sandbox = start_sandbox(files=damage, ready=False)
    until(lambda: sandbox.inspect("{{.State.Status}}") == "exited")
    assert sandbox.inspect("{{.State.ExitCode}}") == "4"
    assert "the box's volume is damaged: /sandbox/state.json" in sandbox.logs()
