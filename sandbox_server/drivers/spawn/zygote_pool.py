"""The zygotes that the spawner knows by name, and the processes that they fork.

A forked process is a child of this one. It and the zygote belong to the agent, so neither is trusted. Linux attests the
sender of the first packet (SCM_CREDENTIALS, unix(7)), and that it is a child of this process.
"""

import errno
import os
import socket
import struct
from collections.abc import Container
from contextlib import suppress

from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account, Program
from sandbox_server.drivers.stats.gvisor import is_gvisor

NOBODY = 0
_CREDENTIALS = struct.Struct("iII")
"""Process, user and group (unix(7))."""


class NoZygoteError(OSError):
    """No zygote of that name runs, or none can."""


class ZygotePool:
    """The zygotes by name. `account` is the user of the zygotes and of all that they fork."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._channels: dict[str, socket.socket] = {}

    def open(self, name: str) -> socket.socket:
        """Make a channel for a zygote that is about to start, and return its end.

        An older zygote of that name gets no more requests. Raises NoZygoteError in gVisor, which ignores CLONE_PARENT: what
        a zygote forks would be no child of this process.
        """
        if is_gvisor():
            raise NoZygoteError(errno.EOPNOTSUPP, "in gVisor no zygote forks for others")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self.close(name)
        self._channels[name] = ours
        return theirs

    def take(self, name: str, channel: socket.socket) -> None:
        """Use the channel of a zygote that somebody else has started as a child of this process."""
        channel.setblocking(False)
        self._channels[name] = channel

    def close(self, name: str) -> None:
        """Let a zygote end. The processes that it forked live on."""
        if channel := self._channels.pop(name, None):
            channel.close()

    def fork(self, name: str, program: Program) -> int:
        """Ask a zygote to fork a process for `program`; return the descriptor of its report. Raises NoZygoteError."""
        channel = self._channels.get(name)
        if channel is None:
            raise NoZygoteError(errno.ENOENT, f"there is no zygote {name!r}")
        told = {
            "argv": list(program.argv),
            "cwd": program.cwd,
            "environment": dict(program.environment),
            "limits": dict(program.limits),
            "oom_score": program.oom_score,
        }
        child_setup.let_open(program.fds[: child_setup.STANDARD], self._account)
        report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        report.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            descriptor_passing.send_request(channel, told, (theirs.fileno(), *program.fds))
        except OSError as error:  # it has ended, or takes nothing
            report.close()
            self.close(name)
            raise NoZygoteError(errno.ENOENT, f"the zygote {name!r} takes no requests: {error.strerror}") from None
        finally:
            theirs.close()
        return report.detach()

    def born(self, report: int, others: Container[int]) -> int:
        """Return the pid of the child that has begun to report and is none of `others`, or NOBODY.

        Raises BlockingIOError.
        """
        with socket.socket(fileno=os.dup(report)) as sock:
            packet, ancillary, _, _ = sock.recvmsg(descriptor_passing.MAX_PACKET, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_DONTWAIT)
        for level, kind, content in ancillary:
            if packet and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                pid, uid, _ = _CREDENTIALS.unpack(content)
                if uid == self._account.uid and pid not in others and _is_child(pid):
                    return int(pid)
        return NOBODY


def _is_child(pid: int) -> bool:
    with suppress(ChildProcessError):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    return False
