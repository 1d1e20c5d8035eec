"""Sends a signal to every process of a process namespace at once, however fast they fork (kill(2), pid -1)."""

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

SECONDS = 1.0
"""How long one attempt may take: root in the namespace can stop or end who sends it."""
ATTEMPTS = 3


def signal_all(namespace: int, number: int) -> bool:
    """Send it to all but the first process; tells whether that was done. The caller has rights over `namespace`, an open one."""
    return any(_attempt(namespace, number) for _ in range(ATTEMPTS))


def _attempt(namespace: int, number: int) -> bool:
    try:
        pid = os.fork()
    except OSError:
        return False
    if pid == 0:
        _end(lambda: _send_from_inside(namespace, number))
    return os.waitpid(pid, 0)[1] == 0


def _send_from_inside(namespace: int, number: int) -> bool:
    """Have a child that is born in the namespace send it; this process stays outside, out of reach."""
    os.setns(namespace, os.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        _end(lambda: _send(number))
    ended = select.poll()
    ended.register(os.pidfd_open(pid), select.POLLIN)
    if not ended.poll(SECONDS * 1000):
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == 0


def _send(number: int) -> bool:
    os.kill(-1, number)
    return True


def _end(work: Callable[[], bool]) -> NoReturn:
    """Do what this process was forked for, and end with whether it was done."""
    done = False
    try:
        with suppress(OSError):
            done = work()
    finally:
        os._exit(not done)
