"""The spawner's connection to the box daemon, which tells it of each new box: its children enter the newest.

Entering costs a child four system calls: the spawner itself joins the user namespace above the box for good, and lets its children be born
in the box's process namespace, so that they are its own children and it sees how they end.
"""

import os
import select
import socket
from contextlib import suppress
from dataclasses import asdict

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.box.attribution import AttributedProcess, ProcessUse
from sandbox_server.drivers.ipc import descriptor_passing

RETRY_SECONDS = 0.05
TOLD_MEMORY, TOLD_WRITTEN, TOLD_SECONDS = 64 << 20, 1 << 20, 0.05
"""From what memory, bytes written and kernel's time on the daemon is told of a process that has ended."""
_NETWORK = -3
"""Where the network namespace is among the descriptors of a box; see `box.KINDS`."""


class SpawnerLink:
    """A connection to the daemon on `path`, and the box that it gave."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sock: socket.socket | None = None
        self._descriptors: list[int] = []
        self._inner = -1
        self._network: int | None = None
        self._box = 0

    def tell(self, culprit: AttributedProcess, use: ProcessUse, *, killed: bool) -> None:
        """Tell the daemon of a process of this box that has ended, where it used much or somebody in the box `killed` it.

        The daemon may be too busy to hear it.
        """
        much = use.memory > TOLD_MEMORY or use.written > TOLD_WRITTEN or use.system > TOLD_SECONDS
        if self._sock and (much or killed):
            ended = {"culprit": asdict(culprit), "use": asdict(use), "killed": killed}
            with suppress(OSError):
                descriptor_passing.send(self._sock, {"ended": ended, "box": self._box})

    @property
    def taken(self) -> bool:
        """Whether there is a box to start processes in."""
        if not self._descriptors:
            return False
        ended = select.poll()
        ended.register(self.ended, select.POLLIN)
        return not ended.poll(0)

    @property
    def patience(self) -> float | None:
        """Seconds after which `connect` is to be tried again; None while there is a connection."""
        return None if self._sock else RETRY_SECONDS

    @property
    def ended(self) -> int:
        """A descriptor that can be read once the box has ended; -1 without a box."""
        return self._descriptors[0] if self._descriptors else -1

    def fileno(self) -> int:
        """The connection's descriptor; -1 without one."""
        return self._sock.fileno() if self._sock else -1

    def connect(self) -> bool:
        """Connect to the daemon where that is not done yet and possible; tell whether it was."""
        if self._sock:
            return False
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)  # a daemon that is stuck has a full queue
        try:
            sock.connect(self._path)
            descriptor_passing.send_request(sock, {"op": "attach"})
        except OSError:
            sock.close()
            return False
        self._sock = sock
        return True

    def disconnect(self) -> None:
        """Close the connection; the box that was given goes on without the daemon."""
        if self._sock:
            self._sock.close()
            self._sock = None

    def receive(self) -> bool:
        """Take what the daemon sent; False once it is gone."""
        if not self._sock:
            return False
        try:
            message, fds = descriptor_passing.receive(self._sock)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if message is None:
            return False
        if fds:
            self._take(fds)
            self._box = int(message["box"])
        return True

    def _take(self, fds: list[int]) -> None:
        self.leave()
        _, outer, pids, *_ = fds
        if not os.path.samestat(os.fstat(outer), os.stat("/proc/self/ns/user")):
            try:
                os.setns(outer, os.CLONE_NEWUSER)
            except PermissionError:  # it belongs to another daemon than the one we joined, and nobody changes between those
                raise SystemExit("spawner: the box has a new daemon; starting anew") from None
        os.setns(pids, os.CLONE_NEWPID)
        self._descriptors, self._inner = fds, namespaces.owner(fds[-1])
        network = fds[_NETWORK]
        shared = os.path.samestat(os.fstat(network), os.stat("/proc/self/ns/net"))
        self._network = None if shared else network

    def leave(self) -> None:
        """Forget a box that has ended."""
        for fd in (*self._descriptors, self._inner):
            with suppress(OSError):
                os.close(fd)
        self._descriptors, self._inner, self._network = [], -1, None

    @property
    def desktop(self) -> "DesktopNamespace":
        """The place of the desktop's programs, beside the box."""
        return DesktopNamespace(self._descriptors[-2], self._network)

    def enter(self) -> None:
        """Move this process, which was just forked, into the box."""
        _, _, _, uts, ipc, _, _, mounts = self._descriptors
        namespaces.forbid_imports()
        _join_network(self._network)
        os.setns(mounts, os.CLONE_NEWNS)
        os.setns(uts, os.CLONE_NEWUTS)
        os.setns(ipc, os.CLONE_NEWIPC)
        os.setns(self._inner, os.CLONE_NEWUSER)


class DesktopNamespace:
    """Where the desktop's programs live, by its mount namespace: in the box's process namespace, but not within reach of its root.

    `network` is the box's network namespace; None where that is the container's.
    """

    def __init__(self, mounts: int, network: int | None = None) -> None:
        self._mounts = mounts
        self._network = network

    def enter(self) -> None:
        """Move this process, which was just forked, there."""
        namespaces.forbid_imports()
        _join_network(self._network)
        os.setns(self._mounts, os.CLONE_NEWNS)


def _join_network(network: int | None) -> None:
    """Join the box's network namespace, before the rights over it are given up."""
    if network is not None:
        os.setns(network, os.CLONE_NEWNET)
