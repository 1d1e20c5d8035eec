"""The early start: boot starts one of the supervisor's programs itself, first of all, because it imports for longer than boot takes.

The program waits at its readiness gate until everything is prepared. It is a child of the process that becomes the supervisor, which adopts
it. Little is imported here, as the program waits for that. Measured on two busy cores, the median of 20 starts: the first call is answered
after 3.5 s, and after 10.6 s without an early start.
"""

import json
import os
import pwd
import shlex
import socket
import subprocess
from collections.abc import Mapping
from configparser import RawConfigParser

from sandbox_server.boot import readiness_gate

type Pipes = dict[str, int | None]
"""Descriptors by the supervisor's names for them."""

ENVIRONMENT = {"LANG": "C.UTF-8"}
"""What the program has until it is let go: nothing that was given to the container, which may be a secret."""


class EarlyStart:
    """A program that was started early, and waits at its readiness gate.

    `process` is kept for as long as it runs: what forgets one reaps it, and that is the supervisor's to do. `gate` is readable once the
    program serves, or has ended.
    """

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", pipes: Pipes, end: socket.socket, own: Mapping[str, str]) -> None:
        self.name = name
        self.process = process
        self.pipes = pipes
        self.gate = end
        self._own = own

    def go(self, environment: Mapping[str, str]) -> None:
        """Tell it that everything is prepared, and what it would have been started with."""
        try:
            self.gate.sendall(json.dumps({**environment, **self._own}).encode() + b"\n")
        except OSError:  # it has ended; the supervisor will see that, and start it anew
            return


def configuration(name: str) -> str:
    """Where a program of ours is declared."""
    return f"{os.path.abspath(__file__).rpartition('/sandbox_server/')[0]}/supervisord/components/{name}.conf"


def start(name: str, configuration: str) -> EarlyStart:
    """Start the program `name` as the supervisor would from `configuration`; without root it stays this user's."""
    parser = RawConfigParser(inline_comment_prefixes=(";",))
    with open(configuration, encoding="utf-8") as file:
        parser.read_file(file)
    program = parser[f"program:{name}"]
    own = dict(pair.split("=", 1) for pair in _listed(program.get("environment", "")))
    uid, gid, groups = identity(program["user"])
    ours, theirs = socket.socketpair()
    pipes = _pipes()
    with theirs:
        process = subprocess.Popen(
            shlex.split(program["command"]),
            stdin=pipes["child_stdin"],
            stdout=pipes["child_stdout"],
            stderr=subprocess.STDOUT,
            cwd=program.get("directory"),
            env={**ENVIRONMENT, **own, readiness_gate.VARIABLE: str(theirs.fileno())},
            pass_fds=[theirs.fileno()],
            process_group=0,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
    return EarlyStart(name, process, pipes, ours, own)


def _listed(text: str) -> list[str]:
    """Split what commas separate outside of quotes, and take the quotes away."""
    words = shlex.shlex(text, posix=True)
    words.whitespace, words.whitespace_split, words.commenters = ",", True, ""
    return [word.strip() for word in words]


def _pipes() -> Pipes:
    child_stdin, stdin = os.pipe()
    stdout, child_stdout = os.pipe()
    for end in (stdin, stdout):
        os.set_blocking(end, False)
    ends = {"child_stdin": child_stdin, "stdin": stdin, "stdout": stdout, "child_stdout": child_stdout}
    return {**ends, "stderr": None, "child_stderr": None}


def identity(user: str) -> tuple[int, int, list[int]] | tuple[None, None, None]:
    """User, group and groups of an account, as `subprocess` takes them; none without root, where nobody becomes anybody else."""
    if os.geteuid() != 0:
        return None, None, None
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(user, entry.pw_gid)
