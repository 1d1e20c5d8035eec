"""Landlock itself, in forks: what is given up stays given up."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.drivers.fence import landlock


def denied_in_a_fork(work: Callable[[], object]) -> bool:
    """Whether a fork is refused what it does."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except PermissionError:
            os._exit(13)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 13)
    return code == 13


@pytest.mark.parametrize(("name", "denied"), [("inside/file", False), ("file", True)])
def test_only_below_an_allowed_path_can_be_written(tmp_path: Path, name: str, denied: bool) -> None:
    (tmp_path / "inside").mkdir()

    def write() -> None:
        fd = landlock.open_path(str(tmp_path / "inside"))
        landlock.restrict(landlock.WRITING, {fd: landlock.WRITING})
        (tmp_path / name).write_text("x")

    assert denied_in_a_fork(write) == denied


def test_an_allowed_file_is_allowed_alone(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")

    def read(name: str) -> None:
        landlock.restrict(landlock.READING, {landlock.open_path(str(tmp_path / "one")): landlock.READING})
        (tmp_path / name).read_text()

    assert not denied_in_a_fork(lambda: read("one"))
    assert denied_in_a_fork(lambda: read("two"))


def test_nobody_outside_can_be_signalled(tmp_path: Path) -> None:
    if landlock.abi() < landlock.SCOPES_ABI:
        pytest.skip("this kernel does not scope signals")

    def signal(pid: int) -> None:
        landlock.restrict(0, {})
        os.kill(pid, 0)

    assert denied_in_a_fork(lambda: signal(os.getppid()))
    assert not denied_in_a_fork(lambda: signal(os.getpid()))


def test_a_version_holds_back_only_what_it_knows() -> None:
    assert landlock.supported_rights(landlock.WRITING, 1) & (landlock.REFER | landlock.TRUNCATE) == 0
    assert landlock.supported_rights(landlock.WRITING, 2) & landlock.REFER
    assert landlock.supported_rights(landlock.WRITING, 3) == landlock.WRITING
