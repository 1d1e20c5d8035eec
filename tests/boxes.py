"""A box with its daemon and its spawner, for tests of what lives in it.

These tests need what the box needs: root, the seccomp profile, `systempaths=unconfined` and a volume at /sandbox. scripts/test gives them
that. None of them deletes anything outside the box's own layers: whoever runs them may have mounted a directory of his own.
"""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import sandbox_server
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import Message
from sandbox_server.drivers.spawn.child_setup import SESSION
from tests.fork_server import ForkedProcess, ForkServer
from tests.patience import until

ROOT = str(Path(sandbox_server.__file__).parent.parent)
VOLUME = Path("/sandbox")
SECONDS = 30.0

# What both are forked from.
_forks = ForkServer("sandbox_server.drivers.box.main", "sandbox_server.drivers.spawn.main", "tests.daemons")


class BoxDaemons:
    """A daemon and a spawner in processes of their own. The client is `daemon`; the agent is `gem`. `options` are more of the daemon's."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._options = options
        self.store = VOLUME / secrets.token_hex(4)
        self.agent_run = Path("/run") / f"agent-{self.store.name}"
        self.box_socket, self.spawn_socket = str(folder / "box.sock"), str(folder / "spawn.sock")
        self.record = folder / "box.json"
        self._environment = folder / "environment.json"
        self._box_daemon: ForkedProcess | None = None
        self._spawner: ForkedProcess | None = None
        self.agent_run.mkdir(mode=0o755)
        self._environment.write_text(json.dumps({"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "WORKSPACE": "/home/gem"}))

    def start(self) -> None:
        """Start both."""
        self.start_box_daemon()
        self.start_spawner()

    def start_box_daemon(self, *options: str) -> None:
        """Start the daemon and wait until it listens."""
        arguments = ["--socket", self.box_socket, "--store", str(self.store), "--record", str(self.record)]
        arguments += ["--agent-run", str(self.agent_run), "--client", "daemon", "--sudo-user", "gem", *self._options, *options]
        self._box_daemon = self._daemon("serve_box", arguments, self.box_socket)

    def start_spawner(self) -> None:
        """Start the spawner and wait until it listens."""
        arguments = ["--socket", self.spawn_socket, "--environment", str(self._environment), "--client", "daemon"]
        arguments += ["--private", str(self.agent_run), "--allow-root", "--desktop", "desktop", "--box", self.box_socket]
        self._spawner = self._daemon("serve_spawner_of_box", arguments, self.spawn_socket)

    def _daemon(self, function: str, arguments: list[str], path: str) -> ForkedProcess:
        Path(path).unlink(missing_ok=True)
        started = _forks.start(f"tests.daemons:{function}", arguments)
        until(lambda: os.path.exists(path))
        return started

    def end_box_daemon(self, number: int = signal.SIGKILL) -> None:
        """End the daemon with a signal and wait for it."""
        _end(self._box_daemon, number)
        self._box_daemon = None

    def end_spawner(self, number: int = signal.SIGKILL) -> None:
        """End the spawner with a signal and wait for it."""
        _end(self._spawner, number)
        self._spawner = None

    def stop(self) -> None:
        """End both, the box with them, and drop its files."""
        _end(self._spawner, signal.SIGTERM)
        if self._box_daemon:
            self._box_daemon.send_signal(signal.SIGTERM)
            until(self._reaped)
        with contextlib.suppress(OSError, ValueError, KeyError):
            self.kill(self.init)  # a daemon that was killed left it
        until(self._removed)

    def _removed(self) -> bool:
        """Remove the files. What a worker of the daemon still removes beside this is gone at the next look."""
        return subprocess.run(["rm", "-rf", self.store, self.agent_run], check=False).returncode == 0

    def kill(self, init: int) -> None:
        """Kill a box by its first process, and wait until nothing in it can write any more."""
        os.kill(init, signal.SIGKILL)
        until(lambda: _has_ended(init))

    def _reaped(self) -> bool:
        """Reap what a spawner that was killed left to us, where we are the first process: the box waits for that. The daemon goes last."""
        for pid in map(int, Path("/proc/thread-self/children").read_text().split()):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return self._box_daemon is None or not self._box_daemon.runs

    @property
    def init(self) -> int:
        """The box's first process."""
        return int(json.loads(self.record.read_text())["init"])

    def ask(self, operation: str, *fds: int, **fields: object) -> dict[str, Any]:
        """Have the daemon do something; a refusal is an error of this test."""
        answer = self.answer(operation, *fds, **fields)
        assert "ok" in answer, answer
        done: dict[str, Any] = answer["ok"]
        return done

    def answer(self, operation: str, *fds: int, **fields: object) -> Message:
        """What the daemon says to a request."""
        with self.request_box_daemon(operation, *fds, **fields) as sock:
            _, received = descriptor_passing.receive(sock)
            try:
                return descriptor_passing.read_body(received[0])
            finally:
                descriptor_passing.close_all(received)

    def request_box_daemon(self, operation: str, *fds: int, **fields: object) -> socket.socket:
        """Ask the daemon for something, without waiting for its answer."""
        sock = _connected(self.box_socket)
        descriptor_passing.send_request(sock, {"op": operation, **fields}, fds)
        return sock

    def start_process(self, script: str, user: str = "root", session: str | None = None) -> tuple[socket.socket, Message]:
        """Start a shell script in the box, as of a session; closing the socket ends it."""
        sock = self.request(script, user, session)
        reply, _ = descriptor_passing.receive(sock)
        assert reply is not None
        return sock, reply

    def request(self, script: str, user: str = "root", session: str | None = None) -> socket.socket:
        """Ask for a shell script to be started in the box, without waiting for it to be."""
        sock = _connected(self.spawn_socket)
        descriptor_passing.send_request(sock, {"argv": ["bash", "-c", script], "user": user, "env": {SESSION: session}})
        return sock

    def run(self, script: str, user: str = "root") -> tuple[str, Message]:
        """Run a shell script in the box: its output, errors among it, and how it ended."""
        readable, writable = os.pipe()
        with _connected(self.spawn_socket) as sock, open(readable, "rb") as output:
            descriptor_passing.send_request(
                sock, {"argv": ["bash", "-c", script], "user": user, "fds": ["stdout", "stderr"]}, [writable, writable]
            )
            os.close(writable)
            reply, _ = descriptor_passing.receive(sock)
            assert reply is not None
            if "error" in reply:
                return "", reply
            text = output.read().decode()
            ended, _ = descriptor_passing.receive(sock)
        assert ended is not None
        return text, ended

    def incident(self, kind: str) -> dict[str, Any] | None:
        """The newest incident of a kind."""
        return next((one for one in self.ask("status")["incidents"] if one["kind"] == kind), None)

    def out(self, script: str, user: str = "root") -> str:
        """What a shell script says that ends well."""
        text, ended = self.run(script, user)
        assert ended == {"exit": 0}, (text, ended)
        return text.strip()


def _connected(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(SECONDS)
    sock.connect(path)
    return sock


def _end(process: ForkedProcess | None, number: int) -> None:
    if process:
        process.send_signal(number)
        process.wait(SECONDS)


def _has_ended(pid: int) -> bool:
    """Whether a process is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
