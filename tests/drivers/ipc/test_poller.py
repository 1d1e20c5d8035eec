import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox_server
from sandbox_server.drivers.ipc.poller import HANG_UP, Poller
from tests.patience import PATIENCE_SECONDS

ROOT = Path(sandbox_server.__file__).parent.parent


@pytest.fixture
def poller() -> Iterator[Poller]:
    """A loop that the tests run in their own thread; signals are as before afterwards."""
    before = signal.getsignal(signal.SIGUSR1)
    wakeup = signal.set_wakeup_fd(-1)
    made = Poller()
    yield made
    made.close()
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGUSR1, before)


def test_a_ready_descriptor_calls_back_until_it_is_unwatched(poller: Poller) -> None:
    readable, writable = os.pipe()
    seen = list[bytes]()

    def ready() -> None:
        seen.append(os.read(readable, 1))
        if len(seen) == 2:
            poller.unwatch(readable)
            poller.stop()

    os.write(writable, b"abc")
    poller.watch(readable, ready)
    assert poller.watches(readable)
    poller.run()
    assert (seen, poller.watches(readable)) == ([b"a", b"b"], False)
    poller.unwatch(readable)
    os.close(readable)
    os.close(writable)


def test_an_exception_in_a_callback_ends_nothing(poller: Poller, capsys: pytest.CaptureFixture[str]) -> None:
    readable, writable = os.pipe()

    def ready() -> None:
        if os.read(readable, 1) == b"b":
            poller.stop()
        else:
            raise RuntimeError("a defect")

    os.write(writable, b"ab")
    poller.watch(readable, ready)
    poller.run()
    assert "a defect" in capsys.readouterr().err
    os.close(readable)
    os.close(writable)


def test_a_hang_up_watch_is_not_called_for_data(poller: Poller) -> None:
    ours, theirs = socket.socketpair()
    other, another = socket.socketpair()
    order = list[str]()

    def hung_up() -> None:
        order.append("hung up")
        poller.stop()

    def close_it() -> None:
        order.append("data of another")
        poller.unwatch(other.fileno())
        theirs.close()

    theirs.send(b"nothing to see")
    another.send(b"x")
    poller.watch(ours.fileno(), hung_up, HANG_UP)
    poller.watch(other.fileno(), close_it)
    poller.run()
    assert order == ["data of another", "hung up"]
    for sock in (ours, other, another):
        sock.close()


def test_signals_arrive_by_their_numbers(poller: Poller) -> None:
    arrived = list[int]()

    def take(numbers: bytes) -> None:
        arrived.extend(numbers)
        poller.stop()

    poller.watch_signals([signal.SIGUSR1], take)
    os.kill(os.getpid(), signal.SIGUSR1)
    poller.run()
    assert arrived == [signal.SIGUSR1]


def test_a_process_that_hangs_in_what_it_calls_is_ended_and_one_that_waits_is_not() -> None:
    code = (
        "import os, sys, time; from sandbox_server.drivers.ipc.poller import Poller\n"
        "poller = Poller(0.3)\n"
        "poller.watch(0, lambda: os.read(0, 1) and os.read(int(sys.argv[1]), 1))\n"
        "poller.run(lambda: None)"
    )
    readable, writable = os.pipe()
    running = subprocess.Popen([sys.executable, "-c", code, str(readable)], stdin=subprocess.PIPE, pass_fds=[readable], cwd=ROOT)
    assert running.stdin
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(2)
    running.stdin.write(b"x")
    running.stdin.flush()
    assert running.wait(PATIENCE_SECONDS) == -signal.SIGALRM
    running.stdin.close()
    os.close(readable)
    os.close(writable)
