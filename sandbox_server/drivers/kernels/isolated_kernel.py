"""Fences itself and becomes a kernel: `isolated_kernel.py PRIVATE POLICY CONNECTION_FILE PROGRAM SCRIPT PACKAGES`.

A fenced process can make no Unix sockets, and does not see the directory of the kernels' sockets. So the kernel's
sockets are opened before the fence is up, and passed to it as descriptors. No code of the agent runs before.

If a part of the policy cannot be enforced, it says so as JSON on standard error, and exits with `REFUSED`.
"""

import errno
import json
import os
import pwd
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

from sandbox_server.drivers.fence import policy
from sandbox_server.drivers.fence.__main__ import REFUSED
from sandbox_server.drivers.fence.fence import Fence, FenceError
from sandbox_server.drivers.kernels import launch

CHANNELS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
BACKLOG = 16
_PROFILE = ("security", "log", "pid", "startup")
"""Directories that IPython would make in its profile, which may be read-only inside the fence."""


def main(arguments: Sequence[str]) -> int:
    """Become the kernel. Returns only if that is not possible."""
    private, encoded, connection_file, program, script, packages = arguments

    def execute(fence: Fence, connection: int) -> None:
        try:
            os.execve(program, [program, script, packages, str(connection)], fence.environment(os.environ) | _sandbox_variables(os.environ))
        except OSError as error:
            reason = f"{program} cannot be executed: {error.strerror}"
            raise FenceError(error.errno or errno.EACCES, reason, "read.allow") from None

    return _enclose(private, encoded, connection_file, execute)


def become(private: str, encoded: str, connection_file: str) -> int:
    """Become the kernel in a process that the zygote has forked."""

    def run(fence: Fence, connection: int) -> None:
        os.environ.update(fence.environment(os.environ))
        launch.become(str(connection))

    return _enclose(private, encoded, connection_file, run)


def _enclose(private: str, encoded: str, connection_file: str, then: Callable[[Fence, int], None]) -> int:
    home = pwd.getpwuid(os.getuid()).pw_dir
    connection = _connection(connection_file)
    for name in _PROFILE:
        os.makedirs(f"{home}/.ipython/profile_default/{name}", exist_ok=True)
    fence = Fence(policy.decode(json.loads(encoded)), cwd=os.getcwd(), home=home, private=private)
    try:
        fence.separate(lambda: None)
        os.chdir(os.getcwd())
        fence.close()
        then(fence, connection)
    except FenceError as error:
        sys.stderr.write(json.dumps({"error": error.errno, "field": error.field, "message": error.strerror}))
        return REFUSED
    return 0


def _connection(path: str) -> int:
    """Open the sockets of a connection file; return a descriptor of a copy that holds their descriptors."""
    with open(path, encoding="utf-8") as file:
        described: dict[str, Any] = json.load(file)
    made = dict(_listen(f"{described['ip']}-{described[channel]}") for channel in CHANNELS)
    fd = os.memfd_create("connection", 0)
    os.write(fd, json.dumps({**described, "open": made}).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _listen(path: str) -> tuple[str, int]:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(path)
    sock.listen(BACKLOG)
    sock.setblocking(False)
    sock.set_inheritable(True)
    return f"ipc://{path}", sock.detach()


def _sandbox_variables(environment: "os._Environ[str]") -> dict[str, str]:
    """Return the variables that the sandbox itself sets for the kernel."""
    return {name: value for name, value in environment.items() if name.startswith("TANDEM_")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
