"""What the supervisor learns of the programs that the zygote forks for it, and what happens without a zygote."""

import json
import os
import signal
from collections.abc import Iterator

import pytest

from sandbox_server.boot import forked_programs
from tests.boot.zygotes import Left, children_of, read, with_child


@pytest.fixture
def left() -> Iterator[Left]:
    """A zygote."""
    left = Left()
    yield left
    left.end()


def test_who_asked_sees_a_programs_exit_code_and_signals(left: Left) -> None:
    ended, _ = left.start("mcp", "code")
    running, _ = left.start("cdp", "wait")
    assert ended
    assert running
    assert os.waitstatus_to_exitcode(with_child(ended) or 0) == 7
    os.kill(running, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(with_child(running) or 0) == -signal.SIGTERM


def test_a_program_outlives_its_zygote_and_another_is_refused(left: Left) -> None:
    pid, reading = left.start("mcp", "status")
    os.kill(left.zygote, signal.SIGKILL)
    with_child(left.zygote)

    assert json.loads(read(reading))["pid"] == pid
    assert left.start("cdp", "status")[0] is None


def test_the_zygote_ends_once_each_program_was_started(left: Left) -> None:
    left.programs.expect({"mcp", "cdp", "gateway"})
    assert left.start("mcp", "wait")[0]
    assert os.waitpid(left.zygote, os.WNOHANG) == (0, 0)
    assert left.start("cdp", "wait")[0]

    assert os.waitstatus_to_exitcode(with_child(left.zygote) or 0) == 0
    assert left.start("mcp", "wait")[0] is None


def test_other_programs_and_other_commands_are_not_forked(left: Left) -> None:
    assert left.start("spawner", "spawn")[0] is None
    assert left.start("mcp", command=("/bin/sh", "-c", "true"))[0] is None
    assert left.start("mcp", "wait")[0]


def test_a_zygote_that_does_not_answer_is_given_up_and_forks_nothing_later(left: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked_programs, "FORK_SECONDS", 0.1)
    before = children_of(os.getpid())
    os.kill(left.zygote, signal.SIGSTOP)
    pid, reading = left.start("mcp", "status")
    os.kill(left.zygote, signal.SIGCONT)

    assert pid is None
    assert json.dumps("pid") not in read(reading)  # it was forked after all, and has ended
    for late in children_of(os.getpid()) - before:
        with_child(late)
    assert os.waitstatus_to_exitcode(with_child(left.zygote) or 0) == 0
