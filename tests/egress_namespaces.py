"""A network namespace with programs in it, for tests of what leaves it.

They need what the box needs: root, the seccomp profile and `systempaths=unconfined`. scripts/test gives them that.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import sandbox_server
from sandbox_server.drivers.egress.network_namespace import RESOLVER, EgressNamespace
from sandbox_server.drivers.ipc import descriptor_passing

ROOT = str(Path(sandbox_server.__file__).parent.parent)
SECONDS = 60.0
_MAKE = """
import json, os, socket, sys
from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.egress import network_namespace
namespaces.leave_user_namespace()
made = network_namespace.create([int(port) for port in sys.argv[2:]])
user = os.open("/proc/self/ns/user", os.O_RDONLY)
socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [json.dumps(made.counts).encode()], [user, *made.descriptors])
"""
_JOIN = """
import os, sys
from sandbox_server.drivers.box import namespaces
user, net, inner, uid, folder = sys.argv[1:6]
os.setns(int(user), os.CLONE_NEWUSER)
os.setns(int(net), os.CLONE_NEWNET)
os.unshare(os.CLONE_NEWNS)
namespaces.keep_mounts_private()
for name in ("resolv.conf", "hosts"):
    namespaces.bind(f"{folder}/{name}", f"/etc/{name}")
if inner == "box":
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.read(ready[0], 1)
        namespaces.write_id_maps(child)
        os.write(go[1], b"x")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.unshare(os.CLONE_NEWUSER)
    os.write(ready[1], b"x")
    os.read(go[0], 1)
os.setgroups([])
os.setresgid(int(uid), int(uid), int(uid))
os.setresuid(int(uid), int(uid), int(uid))
os.environ["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
os.execvp(sys.argv[6], sys.argv[6:])
"""


class NetworkBox:
    """A namespace, and a way to run programs in it as the box does: as root or another user of a user namespace below its owner's."""

    def __init__(self, folder: Path, forwarded: Sequence[int] = ()) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            arguments = [sys.executable, "-c", _MAKE, str(theirs.fileno()), *map(str, forwarded)]
            made = subprocess.run(
                arguments,
                env={"PYTHONPATH": ROOT},
                pass_fds=[theirs.fileno()],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            assert made.returncode == 0, made.stderr
            packet, fds, _ = descriptor_passing.receive_fds(ours, 4096, 64)
        self._user, *rest = fds
        self.namespace = EgressNamespace.of(json.loads(packet), rest)
        self._folder = folder
        (folder / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
        (folder / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")

    def close(self) -> None:
        """Close everything."""
        self.namespace.close()
        os.close(self._user)

    def command(self, *argv: str, uid: int = 1000, inner: str = "box") -> list[str]:
        """The command line that runs a program in the box; `inner` other than box: as the owner of the namespace."""
        return [sys.executable, "-c", _JOIN, str(self._user), str(self.namespace.namespace), inner, str(uid), str(self._folder), *argv]

    def run(self, *argv: str, uid: int = 1000, inner: str = "box", seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run a program in the box."""
        return subprocess.run(
            self.command(*argv, uid=uid, inner=inner),
            env={"PYTHONPATH": ROOT},
            pass_fds=[self._user, self.namespace.namespace],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def python(self, script: str, *arguments: str, uid: int = 1000) -> str:
        """What a Python script in the box prints."""
        done = self.run(sys.executable, "-c", script, *arguments, uid=uid)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
