"""Commands of whoever runs the container that come before the services, run as the agent: RUN_HOOK_INIT, RUN_HOOK_PRE_SERVICES."""

import os
import select
import signal
from collections.abc import Mapping

from sandbox_server.drivers import child
from sandbox_server.drivers.child import Account, Program


class HookFailedError(Exception):
    """A hook failed, and RUN_HOOKS_STRICT says that this stops the container."""


def run(name: str, command: str, account: Account, environment: Mapping[str, str], timeout: float) -> str | None:
    """Run one hook to its end; its output is the container's. What went wrong, or None.

    After `timeout` seconds its whole process group is killed.
    """
    program = Program(["/bin/bash", "-c", command], None, environment, (_null(), 1, 2), {})
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        child.run_program(program, account, None, writable)
    os.close(writable)
    status = _wait(pid, timeout)
    with open(readable, encoding="utf-8") as report:
        refused = report.read() if status is not None else ""
    if refused:
        return f"{name} could not start: {refused}"
    if status is None:
        return f"{name} was killed after {timeout:g} seconds"
    return f"{name} ended with {_described(status)}" if status else None


def _null() -> int:
    return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


def _wait(pid: int, timeout: float) -> int | None:
    """The wait status, or None if it had to be killed."""
    ended = select.poll()
    handle = os.pidfd_open(pid)
    try:
        ended.register(handle, select.POLLIN)
        if not ended.poll(timeout * 1000):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        return os.waitpid(pid, 0)[1]
    finally:
        os.close(handle)


def _described(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
