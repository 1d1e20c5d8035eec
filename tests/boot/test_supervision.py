"""The supervisor starts at once, gives programs without a user to the agent, and ends them on a signal."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_server.boot.supervision import assign_users

CONFIGURATION = """
[supervisord]
nodaemon = true
silent = true
logfile = /dev/null
logfile_maxbytes = 0
pidfile = {folder}/pid
childlogdir = {folder}
user = {user}

[program:writer]
command = /bin/sh -c 'date +%%s.%%N >{folder}/written; id -u >{folder}/uid; echo hello >/dev/stdout; exec sleep 600'
stdout_logfile = {folder}/output
stopwaitsecs = 2
"""


@dataclass
class Process:
    """A program's configuration."""

    uid: int | None


def test_a_program_without_a_user_is_the_agents_and_one_with_a_user_keeps_it() -> None:
    processes = [Process(None), Process(0), Process(990)]
    assign_users(processes, 1000, root=True)
    assert [process.uid for process in processes] == [1000, 0, 990]


def test_without_root_no_program_changes_its_user() -> None:
    processes = [Process(None), Process(0), Process(990)]
    assign_users(processes, 1000, root=False)
    assert [process.uid for process in processes] == [None, None, None]


@dataclass(frozen=True)
class Supervisor:
    """A running supervisor and the directory that its program writes to."""

    process: subprocess.Popen[bytes]
    folder: Path
    agent_uid: int

    def read(self, name: str) -> str:
        """What the program wrote."""
        file = self.folder / name
        return file.read_text().strip() if file.exists() else ""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor with one program."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777 if folder == tmp_path else 0o755)
    agent_uid = 1000 if os.geteuid() == 0 else os.geteuid()
    (tmp_path / "conf").write_text(CONFIGURATION.format(folder=tmp_path, user=os.geteuid()))
    code = f"from sandbox_server.boot.supervision import supervise; supervise('{tmp_path}/conf', {agent_uid})"
    with subprocess.Popen([sys.executable, "-c", code], env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.getcwd()}) as process:
        yield Supervisor(process, tmp_path, agent_uid)
        process.kill()


def test_programs_start_at_once_as_the_agent_and_can_open_their_own_output(supervisor: Supervisor, until: Callable[..., None]) -> None:
    until(lambda: supervisor.read("output"))
    assert (supervisor.read("output"), supervisor.read("uid")) == ("hello", str(supervisor.agent_uid))


def test_the_first_program_starts_in_much_less_than_the_second_that_supervisor_waits(
    supervisor: Supervisor, until: Callable[..., None]
) -> None:
    until(lambda: supervisor.read("written"))
    started = (supervisor.folder / "pid").stat().st_mtime
    assert float(supervisor.read("written")) - started < 0.5


def test_a_signal_ends_the_programs_and_then_the_supervisor(supervisor: Supervisor, until: Callable[..., None]) -> None:
    until(lambda: supervisor.read("output"))
    supervisor.process.send_signal(signal.SIGTERM)
    assert supervisor.process.wait(5) == 0
