"""One connection of a client to the spawner, and the process that it requested."""

import errno
import json
import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, replace

from sandbox_server.drivers.box.attribution import AttributedProcess, ProcessUse, bytes_written
from sandbox_server.drivers.box.spawner_link import SpawnerLink
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import Message
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account, Program

MAX_COMMAND = 200
MAX_REASON = 500
MAX_ERRNO = 4096
SUBJECTS = ("process", "cwd", "program", "isolation")
"""The parts of a request that a child names as the cause of a failure (`child_setup.describe_failure`)."""


@dataclass(eq=False)
class SpawnConnection:
    """One connection."""

    sock: socket.socket
    pid: int = 0
    """The process id; 0 before it is known and after it is reaped, when the number may be reused."""
    report: int = -1
    """Read end of the pipe on which the child reports a failure; -1 once the result is known."""
    told: bytes = b""
    """What the child has reported so far. After a zygote's fork, the agent's own program may have written it."""
    worker: tuple[socket.socket, socket.socket] | None = None
    """The two ends of a file worker's socket: the client's until it is sent, and the worker's, kept to notice a disconnect."""
    tries: int = 0
    """How often the box ended while the process was about to start in it."""
    kept: bool = False
    """Whether the process outlives its client."""
    signalled: bool = False
    """Whether the client has sent a signal or has disconnected."""
    culprit: AttributedProcess | None = None
    """The process as the box daemon identifies it; None outside the box."""
    failed: bool = False
    ends_group: bool = False
    """Whether the rest of its process group is killed at its end."""

    def describe(self, account: Account, program: Program | None = None) -> None:
        """Record which process runs in the box, for attribution."""
        command = " ".join(program.argv)[:MAX_COMMAND] if program else ""
        session = program.environment.get(child_setup.SESSION) if program else None
        self.culprit = AttributedProcess(session, command, 0, account.uid)

    def own_pid(self) -> int:
        """The process id in its own namespace."""
        pid = child_setup.own_pid(self.pid)
        if self.culprit:
            self.culprit = replace(self.culprit, pid=pid)
        return pid

    def listen(self) -> bool:
        """Read what the child reports, without waiting. Return whether the report is complete."""
        while len(self.told) <= descriptor_passing.MAX_PACKET:
            try:
                part = os.read(self.report, descriptor_passing.MAX_PACKET)
            except BlockingIOError:
                return False
            except OSError:  # it disconnected without reading
                return True
            if not part:
                return True
            self.told += part
        return True

    def reap(self, link: SpawnerLink | None) -> int:
        """Reap the process, which has ended, report it to the box daemon, and return its status."""
        if self.ends_group:
            with suppress(OSError):  # the group is empty; until the process is reaped, no other group has its number
                os.killpg(self.pid, signal.SIGKILL)
        written = bytes_written(self.pid) if self.culprit else 0
        _, status, used = os.wait4(self.pid, 0)
        if link and self.culprit:
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and not self.signalled
            link.tell(self.culprit, ProcessUse(memory=used.ru_maxrss << 10, written=written, system=used.ru_stime), killed=killed)
        return status


def failure(told: bytes) -> Message:
    """Return the reply for a process that did not start.

    Its report may come from the agent, so malformed reports are not passed on.
    """
    try:
        found = json.loads(told)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not _is_number(found.get("error")):
        return {"error": errno.EIO, "message": "it said something that makes no sense", "subject": "process"}
    subject = found.get("subject")
    more = {"field": str(found.get("field"))[:MAX_COMMAND]} if subject == "isolation" else {}
    known = subject if subject in SUBJECTS else "process"
    return {"error": found["error"], "message": str(found.get("message"))[:MAX_REASON], "subject": known, **more}


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_ERRNO


def ending(status: int) -> Message:
    """Return the reply that says how a process ended."""
    code = os.waitstatus_to_exitcode(status)
    return {"exit": code} if code >= 0 else {"signal": -code}
