"""The box: a Linux of the agent's own, in which it may be root, inside namespaces that the container's root made.

Two user namespaces, one in the other, with the ids of the container. The outer owns the process, IPC and host-name namespaces, and in it
the tree of files is put together. The inner owns the mount namespace in which the agent lives: its root is root there and nowhere else, the
mounts are locked, and a second /proc, with which it could write the host's settings, is refused to it because its user namespace owns no
process namespace.

The box's first process belongs to the outer one, so that nothing in the box can trace it, and executes nothing: the kernel reaps for it,
and its death is the end of everything in the box. Programs on the desktop live beside it in the outer one; see `desk`.
"""

import json
import os
import resource
import select
import signal
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sandbox_server.drivers.box import desktop_root, namespaces
from sandbox_server.drivers.box import rootfs as box_tree
from sandbox_server.drivers.box.mount_plan import Part, Stack
from sandbox_server.settings import Paths
from sandbox_server.timeouts import scaled

BUILD_SECONDS = scaled(30.0)
END_SECONDS = scaled(10.0)
DESK = 3
"""The descriptor by which the first process holds the mount namespace of the desktop's programs."""
KINDS = ("ns/pid", "ns/uts", "ns/ipc", "ns/net", f"fd/{DESK}", "ns/mnt")
"""Where the first process has the namespaces of a box beside the user namespaces, in the order in which their descriptors travel."""
_NETWORK = KINDS.index("ns/net")
_GROUPED = os.CLONE_NEWUTS | os.CLONE_NEWIPC | os.CLONE_NEWPID


class BoxError(Exception):
    """A box could not be made; the message is the kernel's reason and where it came from."""


@dataclass(frozen=True)
class Tree:
    """What the box's files are made of; see `tree.build`."""

    store: str
    parts: Sequence[Part]
    stacks: Sequence[Stack]
    agent_run: str
    hidden: Collection[str]
    sockets: str
    """Directory in which programs on the desktop find the X server."""
    processes: int
    """Processes and threads that may be in the box at once before its users get no more; root's count, but root is not held to it."""
    network: int | None = None
    """Descriptor of the network namespace that the box joins; None: the container's."""


@dataclass(frozen=True)
class Box:
    """A box that runs. `init` is its first process as the container sees it, `user` the outer user namespace."""

    init: int
    pidfd: int
    user: int
    namespaces: tuple[int, ...]

    @classmethod
    def find(cls, init: int, started: int) -> "Box":
        """Take over a box by its first process and when that started; raises OSError where there is none any more."""
        pidfd = os.pidfd_open(init)
        if start_time(init) != started:  # another process has that number now
            os.close(pidfd)
            raise ProcessLookupError(f"process {init} is no box")
        user, *others = (os.open(f"/proc/{init}/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("ns/user", *KINDS))
        return cls(init, pidfd, user, tuple(others))

    @property
    def processes(self) -> int:
        """Its process namespace."""
        return self.namespaces[0]

    @property
    def network(self) -> int:
        """Its network namespace."""
        return self.namespaces[_NETWORK]

    @property
    def descriptors(self) -> list[int]:
        """What somebody else needs to enter it: its pidfd, the outer user namespace, then those of `KINDS`."""
        return [self.pidfd, self.user, *self.namespaces]

    def kill(self) -> None:
        """End everything in it, and wait until the last process is gone."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        waiting = select.poll()
        waiting.register(self.pidfd, select.POLLIN)
        if not waiting.poll(END_SECONDS * 1000):
            raise BoxError(f"the box did not end within {END_SECONDS:g} s")

    def close(self) -> None:
        """Close its descriptors."""
        for fd in self.descriptors:
            os.close(fd)


def start_time(pid: int) -> int:
    """When a process started, in clock ticks since the machine did (proc_pid_stat(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])


def create(tree: Tree) -> Box:
    """Make a box. The caller is root of a user namespace of its own and has one thread; see `namespaces.leave_user_namespace`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            pid = os.fork()
            if pid == 0:
                _run(theirs, lambda: _begin(tree, theirs))
        ours.settimeout(BUILD_SECONDS)
        os.waitpid(pid, 0)
        init, fds = _learn(ours)
    user = os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    return Box(init, os.pidfd_open(init), user, tuple(fds))


def _learn(sock: socket.socket) -> tuple[int, list[int]]:
    """Receive the number of the first process, from its parent, and its namespaces, from itself, in any order."""
    told: dict[str, int] = {}
    namespaces: list[int] = []
    while not namespaces or "init" not in told:
        message, fds, _, _ = socket.recv_fds(sock, 4096, len(KINDS), socket.MSG_CMSG_CLOEXEC)
        told |= json.loads(message or b'{"error": "its first process died"}')
        namespaces += fds
        if "error" in told:
            raise BoxError(str(told["error"]))
    return told["init"], namespaces


def _run(sock: socket.socket, work: Callable[[], None]) -> NoReturn:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - the top of a forked process: its parent is told
        sock.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
    finally:
        os._exit(0)


def _begin(tree: Tree, sock: socket.socket) -> None:
    if tree.network is not None:
        os.setns(tree.network, os.CLONE_NEWNET)
    os.unshare(_GROUPED)
    init = os.fork()
    if init == 0:
        _run(sock, lambda: _become_init(tree, sock))
    sock.send(json.dumps({"init": init}).encode())


def _become_init(tree: Tree, sock: socket.socket) -> None:
    os.setsid()
    namespaces.forbid_imports()
    os.unshare(os.CLONE_NEWNS)
    root = box_tree.build(tree.store, tree.parts, tree.stacks, tree.agent_run, tree.hidden)
    desktop_mounts = _made_elsewhere(lambda sock: _open_desktop(sock, root, tree))
    namespaces.enter_root(root)
    inner = _made_elsewhere(lambda sock: _open_inner(sock, tree.processes))
    os.setns(inner, os.CLONE_NEWNS)
    sent = sock.dup()
    os.dup2(desktop_mounts, DESK)
    fds = [os.open(f"/proc/self/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in KINDS]
    _forget_the_daemon()
    socket.send_fds(sent, [b"{}"], fds)
    os.closerange(0, DESK)
    os.closerange(DESK + 1, os.sysconf("SC_OPEN_MAX"))
    while True:
        signal.pause()


def _made_elsewhere(make: Callable[[socket.socket], None]) -> int:
    """Open a mount namespace that a child makes from this one; `make` sends it, and may ask before to have its ids mapped."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        _run(theirs, lambda: make(theirs))
    theirs.close()
    with ours:
        message, fds, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        if message == b"map":
            namespaces.write_id_maps(pid)
            ours.send(b"x")
            message, fds, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        os.waitpid(pid, 0)
    if not fds:
        raise BoxError(json.loads(message or b'{"error": "it died"}')["error"])
    return fds[0]


def _open_inner(sock: socket.socket, processes: int) -> None:
    """Copy the mounts into the namespace of a new user namespace."""
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))  # the kernel holds all of a namespace to its maker's limit
    os.unshare(os.CLONE_NEWUSER)
    sock.send(b"map")
    sock.recv(1)
    os.unshare(os.CLONE_NEWNS)
    _send_mounts(sock)


def _open_desktop(sock: socket.socket, root: str, tree: Tree) -> None:
    os.unshare(os.CLONE_NEWNS)
    desktop_root.build(root, tree.sockets, tree.hidden, (f"{tree.store}/{desktop_root.PROFILES}", Paths().profiles))
    _send_mounts(sock)


def _send_mounts(sock: socket.socket) -> None:
    socket.send_fds(sock, [b"{}"], [os.open("/proc/self/ns/mnt", os.O_RDONLY)])


def _forget_the_daemon() -> None:
    """Become what only reaps: the kernel does that itself for a process that ignores SIGCHLD (sigaction(2))."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    namespaces.name_process("box")
    namespaces.forbid_tracing(forbidden=False)  # the next daemon finds the box through it; only the outer namespace's root may
