import errno
import json
import os
import signal
import socket
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.box.attribution import AttributedProcess, ProcessUse
from sandbox_server.drivers.box.spawner_link import SpawnerLink
from sandbox_server.drivers.spawn.child_setup import SESSION, Account, Program
from sandbox_server.drivers.spawn.client import SpawnConnection, ending, failure

ME = Account("me", os.getuid(), os.getgid(), (), "/")


class FakeLink(SpawnerLink):
    """Notes what the box daemon would be told."""

    def __init__(self) -> None:
        super().__init__("/nonexistent")
        self.told: list[tuple[AttributedProcess, ProcessUse, bool]] = []

    def tell(self, culprit: AttributedProcess, use: ProcessUse, *, killed: bool) -> None:
        self.told.append((culprit, use, killed))


@pytest.fixture
def spawned() -> Iterator[SpawnConnection]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield SpawnConnection(ours)


def start(spawned: SpawnConnection, *argv: str) -> None:
    spawned.pid = os.posix_spawnp(argv[0], argv, os.environ)
    spawned.describe(ME, Program(argv, None, {SESSION: "bash:b"}, (0, 1, 2), {}))


def test_the_daemon_is_told_who_ended_and_what_it_used(spawned: SpawnConnection) -> None:
    link = FakeLink()
    start(spawned, "sh", "-c", "head -c 3000000 /dev/zero >/dev/null; exit 3")
    assert spawned.own_pid() == spawned.pid
    os.waitid(os.P_PID, spawned.pid, os.WEXITED | os.WNOWAIT)
    assert ending(spawned.reap(link)) == {"exit": 3}
    [(culprit, use, killed)] = link.told
    assert (culprit.session, culprit.pid, culprit.uid, killed) == ("bash:b", spawned.pid, ME.uid, False)
    assert culprit.command.startswith("sh -c head")
    assert use.written >= 3_000_000
    assert use.memory > 0


@pytest.mark.parametrize("signalled", [True, False])
def test_a_kill_that_nobody_here_sent_is_told(spawned: SpawnConnection, signalled: bool) -> None:
    link = FakeLink()
    start(spawned, "sleep", "600")
    spawned.signalled = signalled
    os.kill(spawned.pid, signal.SIGKILL)
    assert ending(spawned.reap(link)) == {"signal": 9}
    assert link.told[0][2] is not signalled


def test_of_what_is_outside_the_box_nothing_is_told(spawned: SpawnConnection) -> None:
    link = FakeLink()
    start(spawned, "true")
    spawned.culprit = None
    assert spawned.own_pid() == spawned.pid
    assert ending(spawned.reap(link)) == {"exit": 0}
    assert link.told == []


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"x",
        b"[" * 10_000,
        b"[]",
        b"{}",
        b'{"error": "2"}',
        b'{"error": true}',
        b'{"error": -1}',
        b'{"error": 1e9}',
        b'{"pid": 1}',
        b'{"error": 99999999999999999999}',
    ],
)
def test_what_makes_no_sense_is_passed_on_as_that(told: bytes) -> None:
    assert failure(told) == {"error": errno.EIO, "message": "it said something that makes no sense", "subject": "process"}


def test_why_a_process_did_not_start_is_passed_on_in_bounds_and_nothing_else_of_it() -> None:
    told = {"error": 2, "message": "x" * 1000, "subject": "cwd", "pid": 1, "exit": 0}
    assert failure(json.dumps(told).encode()) == {"error": 2, "message": "x" * 500, "subject": "cwd"}
    assert failure(b'{"error": 1, "message": [1], "subject": {"a": 1}}') == {"error": 1, "message": "[1]", "subject": "process"}
    isolation = failure(b'{"error": 1, "message": "m", "subject": "isolation", "field": 5}')
    assert isolation == {"error": 1, "message": "m", "subject": "isolation", "field": "5"}
