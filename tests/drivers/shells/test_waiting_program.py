"""Programs that wait for input are told from those that wait for something else."""

import os
import pty
import pwd
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.shells.waiting_program import WaitingProgram, parse, waiting_program
from sandbox_server.drivers.spawn.process import Processes

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio
SOCKET = "import socket; a, b = socket.socketpair(); a.recv(1)"
CALLS_ITSELF = "open('/proc/self/comm', 'w').write('1 icanon\\n2 x'); input()"


@contextmanager
def on_a_terminal(*argv: str) -> Iterator[int]:
    """The process id of a program of the agent on a terminal of its own, whose session it leads as a shell does."""
    pid, descriptor = pty.fork()
    if pid == 0:
        if os.geteuid() == 0:
            agent = pwd.getpwnam("gem")
            os.fchown(0, agent.pw_uid, agent.pw_gid)
            os.setgid(agent.pw_gid)
            os.setuid(agent.pw_uid)
        os.execvp(argv[0], argv)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.close(descriptor)
    os.waitpid(pid, 0)


async def found(processes: Processes, pid: int, *, seconds: float) -> WaitingProgram | None:
    """What waits, at most this long."""
    deadline = time.monotonic() + seconds
    while (waits := await waiting_program(processes, pid)) is None and time.monotonic() < deadline:
        pass
    return waits


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (["cat"], "line"),
        (["bash", "-c", "read -s x"], "hidden"),
        (["bash", "-c", "read -n 1 x"], "keys"),
        ([sys.executable, "-q"], "keys"),
        ([sys.executable, "-c", CALLS_ITSELF], "line"),
    ],
)
async def test_a_reader_of_the_terminal_waits(spawner: "SpawnerDaemon", argv: list[str], kind: str) -> None:
    with on_a_terminal(*argv) as pid:
        waits = await found(Processes(spawner.socket), pid, seconds=30)
    assert waits
    assert (waits.pid, waits.kind) == (pid, kind)


async def test_one_that_begins_to_read_while_it_is_looked_for_is_told_with_the_modes_that_it_set(spawner: "SpawnerDaemon") -> None:
    kinds = []
    for centiseconds in range(20):
        with on_a_terminal("bash", "-c", f"sleep 0.0{centiseconds % 10}; read -s x") as pid:
            kinds.append(waits.kind if (waits := await found(Processes(spawner.socket), pid, seconds=30)) else None)
    assert kinds == ["hidden"] * 20


@pytest.mark.parametrize("argv", [["sleep", "60"], [sys.executable, "-c", SOCKET], ["sh", "-c", "while :; do :; done"]])
async def test_who_waits_for_something_else_or_computes_does_not(spawner: "SpawnerDaemon", argv: list[str]) -> None:
    with on_a_terminal(*argv) as pid:
        assert await found(Processes(spawner.socket), pid, seconds=1) is None


async def test_a_shell_that_is_gone_has_nothing_that_waits(spawner: "SpawnerDaemon") -> None:
    assert await waiting_program(Processes(spawner.socket), 4194303) is None
    assert await waiting_program(Processes("/nonexistent"), 1) is None


@pytest.mark.parametrize("said", ["", "\n", "x icanon echo\ncat", "1 icanon\ncat", "1 icanon echo more\ncat", "-1 icanon echo\ncat"])
def test_what_is_not_the_scripts_answer_is_nothing(said: str) -> None:
    assert parse(said) is None


def test_a_name_is_kept_as_it_is() -> None:
    assert parse("12 icanon -echo\nmy name\nis") == WaitingProgram(12, "my name\nis", "hidden")
