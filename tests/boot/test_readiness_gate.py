"""A program that boot starts early waits at its gate."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from sandbox_server.boot.readiness_gate import VARIABLE, ReadinessGate
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def boot(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Boot's end of a gate whose other end this process inherits."""
    ours, theirs = socket.socketpair()
    monkeypatch.setenv(VARIABLE, str(theirs.detach()))
    with ours:
        ours.settimeout(PATIENCE_SECONDS)
        yield ours


def test_a_program_waits_until_boot_lets_it_go(boot: socket.socket) -> None:
    gate = ReadinessGate.inherited()
    waiting = threading.Thread(target=gate.wait)
    waiting.start()
    assert waiting.is_alive()
    boot.send(b'{"GIVEN":')
    assert waiting.is_alive()
    boot.send(b' "later"}\n')
    waiting.join(PATIENCE_SECONDS)
    assert not waiting.is_alive()
    assert os.environ.pop("GIVEN") == "later"
    assert gate.given
    gate.close()


def test_a_waiting_program_exits_when_boot_has_ended(boot: socket.socket) -> None:
    gate = ReadinessGate.inherited()
    boot.send(b'{"GIVEN": "half')
    boot.close()
    with pytest.raises(SystemExit):
        gate.wait()
    gate.close()


def test_boot_learns_that_it_serves(boot: socket.socket) -> None:
    ReadinessGate.inherited().close()
    assert boot.recv(1) == b""


def test_what_the_program_starts_does_not_inherit_the_gate(boot: socket.socket) -> None:
    inherited = int(os.environ[VARIABLE])
    gate = ReadinessGate.inherited()
    assert (VARIABLE in os.environ, os.get_inheritable(inherited)) == (False, False)
    gate.close()


def test_a_program_that_was_given_none_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    gate = ReadinessGate.inherited()
    gate.wait()
    assert not gate.given
    gate.close()
