import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.kernels.forked_copies import ForkedCopies
from tests.patience import until

FORKS = """
import os, signal, subprocess, sys
subprocess.Popen(["sleep", "600"])
for _ in range(3):
    if os.fork() == 0:
        signal.pause()
print("forked", flush=True)
signal.pause()
"""


@pytest.fixture
def kernel() -> Iterator[int]:
    """A process that leads a group, of three copies of itself and one other program."""
    with subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        assert process.stdout.readline() == b"forked\n"
        yield process.pid
        os.killpg(process.pid, signal.SIGKILL)


def group(leader: int) -> list[str]:
    """Names of the programs that run in a group."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return sorted(name for pgid, state, name, *_ in rows if int(pgid) == leader and not state.startswith("Z"))


def test_copies_are_ended_and_neither_the_kernel_nor_its_programs(kernel: int) -> None:
    copies = ForkedCopies(kernel)
    assert len(group(kernel)) == 5
    assert copies.end() == 0
    until(lambda: len(group(kernel)) == 2)
    assert "sleep" in group(kernel)


def test_copies_that_were_there_before_the_code_began_are_not_its_own(kernel: int) -> None:
    copies = ForkedCopies(kernel)
    before = group(kernel)
    until_the_clock_ticks()
    copies.begin()
    assert copies.end() == 0
    assert group(kernel) == before


def until_the_clock_ticks() -> None:
    """Return once the clock that processes are dated by has moved on."""
    begun = start_of_new()
    until(lambda: start_of_new() > begun)


def start_of_new() -> int:
    """By that clock, when a process begins that is started now."""
    stat = subprocess.run(["sh", "-c", "cat /proc/$$/stat"], capture_output=True, check=True).stdout
    return int(stat.rpartition(b")")[2].split()[19])
