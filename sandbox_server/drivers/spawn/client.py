"""A client of the spawner and the process that it asked for."""

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
"""What a child names as what failed (`child.describe_failure`)."""


@dataclass(eq=False)
class SpawnConnection:
    """One connection."""

    sock: socket.socket
    pid: int = 0
    """Known and not yet reaped, else 0: a reaped pid may be anybody's."""
    report: int = -1
    """Read end of the pipe on which the child says why it did not start; -1 once that is known."""
    told: bytes = b""
    """What the child has said there so far; where a zygote forked it, that is the agent's own program."""
    worker: tuple[socket.socket, socket.socket] | None = None
    """A file worker's two ends: the client's until it is sent, and its own, kept to see the client hang up."""
    tries: int = 0
    """How often the box ended while the process was about to start in it."""
    kept: bool = False
    """The process outlives its client."""
    signalled: bool = False
    """Its client has sent it a signal, or has gone."""
    culprit: AttributedProcess | None = None
    """Who it is, for the box daemon; None outside the box."""
    failed: bool = False
    ends_group: bool = False
    """What it leaves of its process group is killed."""

    def describe(self, account: Account, program: Program | None = None) -> None:
        """Note who it is: what runs in the box for an account."""
        command = " ".join(program.argv)[:MAX_COMMAND] if program else ""
        session = program.environment.get(child_setup.SESSION) if program else None
        self.culprit = AttributedProcess(session, command, 0, account.uid)

    def own_pid(self) -> int:
        """The number by which it knows itself."""
        pid = child_setup.own_pid(self.pid)
        if self.culprit:
            self.culprit = replace(self.culprit, pid=pid)
        return pid

    def listen(self) -> bool:
        """Take what the child says, without waiting for more; tells whether that is all."""
        while len(self.told) <= descriptor_passing.MAX_PACKET:
            try:
                part = os.read(self.report, descriptor_passing.MAX_PACKET)
            except BlockingIOError:
                return False
            except OSError:  # it hung up without reading
                return True
            if not part:
                return True
            self.told += part
        return True

    def reap(self, link: SpawnerLink | None) -> int:
        """Wait for the process, which has ended, and tell the box daemon how; gives its status."""
        if self.ends_group:
            with suppress(OSError):  # nobody is left; while it is not reaped, no other group has its number
                os.killpg(self.pid, signal.SIGKILL)
        written = bytes_written(self.pid) if self.culprit else 0
        _, status, used = os.wait4(self.pid, 0)
        if link and self.culprit:
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and not self.signalled
            link.tell(self.culprit, ProcessUse(memory=used.ru_maxrss << 10, written=written, system=used.ru_stime), killed=killed)
        return status


def failure(told: bytes) -> Message:
    """Why a process did not start, of what it told. Who told it may be the agent: what is malformed is not passed on."""
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
    """How a process ended, as its client is told."""
    code = os.waitstatus_to_exitcode(status)
    return {"exit": code} if code >= 0 else {"signal": -code}
