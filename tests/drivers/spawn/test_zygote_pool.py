"""Who may be taken for what a zygote has forked."""

import os
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.spawn import zygote_pool
from sandbox_server.drivers.spawn.child_setup import Account, Program
from sandbox_server.drivers.spawn.zygote_pool import NOBODY, NoZygoteError, ZygotePool

PROGRAM = Program(argv=["x"], cwd=None, environment={}, fds=(0, 0, 0), limits={})


@pytest.fixture
def templates() -> ZygotePool:
    """Templates of whoever runs this."""
    return ZygotePool(Account.current())


@pytest.fixture
def report() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Where a new process reports, and its end of that."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with ours, theirs:
        yield ours, theirs


def child(theirs: socket.socket) -> int:
    """A child that has reported, and has ended but is not reaped."""
    pid = os.fork()
    if pid == 0:
        theirs.send(b"{}")
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


def test_a_name_that_nobody_has_forks_nothing(templates: ZygotePool) -> None:
    with pytest.raises(NoZygoteError):
        templates.fork("kernels", PROGRAM)


def test_a_template_that_has_ended_forks_nothing(templates: ZygotePool) -> None:
    templates.open("kernels").close()

    with pytest.raises(NoZygoteError, match="takes no requests"):
        templates.fork("kernels", PROGRAM)


def test_a_name_that_is_given_anew_is_the_new_template_s(templates: ZygotePool) -> None:
    with templates.open("kernels") as before, templates.open("kernels") as after:
        os.close(templates.fork("kernels", PROGRAM))
        assert (before.recv(10), after.recv(10)) == (b"", b"{}")
    templates.close("kernels")


def test_in_gvisor_there_is_no_template(templates: ZygotePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygote_pool, "is_gvisor", lambda: True)
    with pytest.raises(NoZygoteError, match="gVisor"):
        templates.open("kernels")


def test_a_template_that_takes_nothing_is_given_up_and_holds_nobody(templates: ZygotePool) -> None:
    def fill() -> None:
        while True:
            os.close(templates.fork("kernels", PROGRAM))

    with templates.open("kernels"), pytest.raises(NoZygoteError):
        fill()


def test_a_child_that_speaks_for_itself_is_the_one(templates: ZygotePool, report: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = report
    pid = child(theirs)

    assert templates.born(ours.fileno(), {}) == pid
    os.waitpid(pid, 0)


def test_a_child_that_is_known_already_is_nobody(templates: ZygotePool, report: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = report
    pid = child(theirs)

    assert templates.born(ours.fileno(), {pid}) == NOBODY
    os.waitpid(pid, 0)


def test_who_is_no_child_is_nobody(templates: ZygotePool, report: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = report
    theirs.send(b"{}")  # this process is not its own child

    assert templates.born(ours.fileno(), {}) == NOBODY


def test_who_hangs_up_is_nobody_and_who_has_not_spoken_may_yet(templates: ZygotePool, report: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = report
    with pytest.raises(BlockingIOError):
        templates.born(ours.fileno(), {})
    theirs.close()

    assert templates.born(ours.fileno(), {}) == NOBODY
