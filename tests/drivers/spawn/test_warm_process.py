"""A warm process becomes the next program, and is never missed."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.drivers.spawn.test_spawner import ask, connect, is_running, report
from tests.patience import until

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
def spawner(spawner_type: type["SpawnerDaemon"]) -> Iterator["SpawnerDaemon"]:
    """A running spawner that keeps a warm process."""
    with tempfile.TemporaryDirectory() as folder:  # not pytest's, which the agent may not enter
        os.chmod(folder, 0o755)
        daemon = spawner_type(Path(folder))
        daemon.start("--warm-process")
        yield daemon
        daemon.stop()


def children(spawner: "SpawnerDaemon") -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{spawner.pid}/task/{spawner.pid}/children").read_text().split()]


def has_settled(pid: int) -> bool:
    """Whether it waits for its program, with nothing of the spawner but its streams, and what they tell each other by."""
    return sorted(map(int, os.listdir(f"/proc/{pid}/fd"))) == [0, 1, 2, 3, 4]


@pytest.fixture
def warm(spawner: "SpawnerDaemon") -> int:
    """The process that waits."""
    until(lambda: len(children(spawner)) == 1 and has_settled(children(spawner)[0]))
    return children(spawner)[0]


def test_nobody_takes_it_for_the_spawner(spawner: "SpawnerDaemon", warm: int) -> None:
    assert Path(f"/proc/{warm}/cmdline").read_bytes().strip(b"\0") == b"warm process"


def test_a_warm_process_becomes_the_next_program_and_is_replaced(spawner: "SpawnerDaemon", warm: int) -> None:
    with connect(spawner) as sock:
        assert ask(sock, argv=["sleep", "60"])["pid"] == warm
        until(lambda: len(children(spawner)) == 2)
        assert warm in children(spawner)


def test_the_program_finds_what_every_other_finds(spawner: "SpawnerDaemon", warm: int) -> None:
    given = {"cwd": "/tmp", "env": {"GREETING": "hello", "LANG": None}}
    by_spare = report(spawner, **given)
    until(lambda: warm not in children(spawner) and len(children(spawner)) == 1)
    (next_one,) = children(spawner)
    forked = report(spawner, limits={"core": 0}, **given)

    assert by_spare == forked
    until(lambda: children(spawner) == [next_one])  # who was asked for less than usual came from elsewhere, and is reaped


def test_a_program_reopens_its_own_output_by_name(spawner: "SpawnerDaemon", warm: int) -> None:
    readable, writable = os.pipe()
    with connect(spawner) as sock, open(readable, "rb") as out:
        assert ask(sock, writable, argv=["sh", "-c", "echo said >/dev/stdout"], fds=["stdout"])["pid"] == warm
        os.close(writable)
        assert out.read() == b"said\n"


@pytest.mark.parametrize(
    ("request_body", "subject"),
    [({"argv": ["no-such-program"]}, "program"), ({"argv": ["true"], "cwd": "/nowhere"}, "cwd")],
)
def test_what_it_cannot_become_is_said(spawner: "SpawnerDaemon", warm: int, request_body: dict[str, object], subject: str) -> None:
    with connect(spawner) as sock:
        assert ask(sock, **request_body)["subject"] == subject


def test_how_it_ended_is_told(spawner: "SpawnerDaemon", warm: int) -> None:
    with connect(spawner) as sock:
        assert ask(sock, argv=["sh", "-c", "exit 7"]) == {"pid": warm}
        assert sock.recv(100) == b'{"exit": 7}'


def test_a_program_starts_without_a_killed_warm_process(spawner: "SpawnerDaemon", warm: int) -> None:
    os.kill(warm, signal.SIGKILL)
    for _ in range(20):  # at whatever moment the spawner learns of it
        with connect(spawner) as sock:
            assert ask(sock, argv=["true"]).keys() == {"pid"}
            assert sock.recv(100) in (b'{"exit": 0}', b'{"signal": 9}')


def test_a_program_from_a_warm_process_ends_with_its_client(spawner: "SpawnerDaemon", warm: int) -> None:
    with connect(spawner) as sock:
        ask(sock, argv=["sleep", "60"])
    until(lambda: not is_running(warm))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_warm_process_ends_with_the_spawner(spawner: "SpawnerDaemon", warm: int, number: int) -> None:
    spawner.stop(number)
    until(lambda: not is_running(warm))


def test_hundreds_of_programs_leave_no_descriptor_and_no_zombie(spawner: "SpawnerDaemon", warm: int) -> None:
    before = len(os.listdir(f"/proc/{spawner.pid}/fd"))
    for number in range(300):
        with connect(spawner) as sock:
            ask(sock, argv=["true"] if number % 3 else ["no-such-program"])
    until(lambda: len(children(spawner)) == 1 and is_running(children(spawner)[0]))
    until(lambda: len(os.listdir(f"/proc/{spawner.pid}/fd")) == before)
