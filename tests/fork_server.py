"""A fork server: a process that has imported what daemons of tests need, and forks them, as the product's spawner forks its file workers.

A daemon then starts in milliseconds, where an interpreter's own start and imports take 100 to 400 ms of a processor.
`python -m tests.fork_server DESCRIPTOR MODULE...` is that process; `ForkServer` drives it.
"""

import atexit
import gc
import grp
import importlib
import json
import os
import pwd
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sandbox_server

ROOT = str(Path(sandbox_server.__file__).parent.parent)
STANDARD_STREAMS = (0, 1, 2)
MAX_REQUEST_BYTES = 1 << 16
MAX_DESCRIPTORS = 16
SECONDS = 30.0


class ForkedProcess:
    """A process that a fork server forked, held by a descriptor: a signal never meets another process that has its number by then."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor: int | None = descriptor

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._descriptor is not None and not _readable(self._descriptor, 0)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.runs:
            assert self._descriptor is not None
            signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self, seconds: float = SECONDS) -> None:
        """Return once it has ended; fail after `seconds`."""
        if self._descriptor is None:
            return
        if not _readable(self._descriptor, seconds):
            raise TimeoutError(f"process {self.pid} did not end within {seconds:g} s")
        os.close(self._descriptor)
        self._descriptor = None


class ForkServer:
    """Starts functions of modules as processes. It starts with the first of them, imports `modules`, and ends with the tests."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._socket: socket.socket | None = None

    def start(
        self,
        function: str,
        arguments: Sequence[str] = (),
        descriptors: Sequence[int] = (),
        *,
        user: str | None = None,
        group: str | None = None,
        cwd: str = ROOT,
        environment: Mapping[str, str] | None = None,
    ) -> ForkedProcess:
        """Call `module:function` with `arguments` and descriptors in a process of its own, which has this process's standard streams.

        It runs as `user`, and in `group` alone, if they are given.
        """
        request = {
            "function": function,
            "arguments": list(arguments),
            "user": user,
            "group": group,
            "cwd": cwd,
            "environment": {"PYTHONPATH": ROOT, **(environment or {})},
        }
        sock = self._started()
        socket.send_fds(sock, [json.dumps(request).encode()], [*STANDARD_STREAMS, *descriptors])
        reply, received, _, _ = socket.recv_fds(sock, MAX_REQUEST_BYTES, 1)
        return ForkedProcess(int(reply), received[0])

    def _started(self) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._socket.settimeout(SECONDS)
            with theirs:
                command = [sys.executable, "-m", "tests.fork_server", str(theirs.fileno()), *self._modules]
                process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT, env={"PYTHONPATH": ROOT})
            atexit.register(_stop, self._socket, process)
        return self._socket


def _stop(sock: socket.socket, process: subprocess.Popen[bytes]) -> None:
    sock.close()
    process.wait(SECONDS)


def _readable(descriptor: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def serve(sock: socket.socket) -> Callable[[], object] | None:
    """Fork for each request until the other side closes. In a forked process this returns what that one is to do."""
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        message, descriptors, _, _ = socket.recv_fds(sock, MAX_REQUEST_BYTES, MAX_DESCRIPTORS)
        if not message:
            return None
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # its number is its own until it is reaped
        pid = os.fork()
        if pid == 0:
            sock.close()
            return _prepared(json.loads(message), descriptors)
        pidfd = os.pidfd_open(pid)
        socket.send_fds(sock, [str(pid).encode()], [pidfd])
        for descriptor in (pidfd, *descriptors):
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _reap(*_: object) -> None:
    """Reap every forked process that has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _prepared(request: dict[str, Any], descriptors: Sequence[int]) -> Callable[[], object]:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    for stream, descriptor in zip(STANDARD_STREAMS, descriptors, strict=False):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    if request["group"]:
        group = grp.getgrnam(request["group"]).gr_gid
        os.setgroups([])
        os.setregid(group, group)
    if request["user"]:
        user = pwd.getpwnam(request["user"]).pw_uid
        os.setreuid(user, user)
    os.chdir(request["cwd"])
    os.umask(0o022)
    os.environ.clear()
    os.environ.update(request["environment"])
    module, _, name = request["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    return lambda: function(request["arguments"], descriptors[len(STANDARD_STREAMS) :])


def main(descriptor: str, *modules: str) -> None:
    """Import, then serve."""
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # a forked process then copies fewer pages
    work = serve(socket.socket(fileno=int(descriptor)))
    if work:
        work()


if __name__ == "__main__":
    main(*sys.argv[1:])
