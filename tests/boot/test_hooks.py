"""Hooks that come before the services run as the agent, end in time, and say what went wrong."""

import os
from pathlib import Path

import pytest

from sandbox_server.boot.hooks import run
from sandbox_server.drivers.child import Account

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/", "GREETING": "hello"}


@pytest.fixture
def account() -> Account:
    """The agent, as far as the tests can become it."""
    return Account.named("gem") if os.geteuid() == 0 else Account.current()


def test_a_hook_that_succeeds_has_nothing_to_say(account: Account) -> None:
    assert run("RUN_HOOK_INIT", "true", account, ENVIRONMENT, 30) is None


def test_its_output_is_the_containers(account: Account, capfd: pytest.CaptureFixture[str]) -> None:
    run("RUN_HOOK_INIT", "echo $GREETING; echo oops >&2", account, ENVIRONMENT, 30)
    assert capfd.readouterr() == ("hello\n", "oops\n")


def test_it_runs_as_the_agent_with_the_environment_of_the_agent_alone(account: Account, capfd: pytest.CaptureFixture[str]) -> None:
    os.environ["LEAK"] = "secret"
    try:
        run("RUN_HOOK_INIT", "id -u; echo ${LEAK-none}", account, ENVIRONMENT, 30)
    finally:
        del os.environ["LEAK"]
    assert capfd.readouterr().out == f"{account.uid}\nnone\n"


def test_a_hook_that_fails_says_how(account: Account) -> None:
    assert run("RUN_HOOK_INIT", "exit 3", account, ENVIRONMENT, 30) == "RUN_HOOK_INIT ended with exit code 3"
    assert run("RUN_HOOK_INIT", "kill -9 $$", account, ENVIRONMENT, 30) == "RUN_HOOK_INIT ended with signal 9"


def test_a_hook_that_takes_too_long_is_killed_with_what_it_started(account: Account, tmp_path: Path, until: object) -> None:
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    failure = run("RUN_HOOK_INIT", f"sleep 600 & echo $! >{tmp_path}/pid; wait", account, ENVIRONMENT, 1.5)
    assert failure == "RUN_HOOK_INIT was killed after 1.5 seconds"
    assert callable(until)
    until(lambda: _is_gone(int((tmp_path / "pid").read_text())))


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
