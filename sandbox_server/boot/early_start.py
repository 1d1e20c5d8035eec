"""The early start: boot starts one of the supervisor's programs first, because it imports for longer than boot takes.

The program waits at its readiness gate until everything is prepared. It is a child of the process that becomes the
supervisor, which adopts it. This module imports little, because the program waits for it. Measured on two busy cores,
median of 20 starts: the first call is answered after 3.5 s, and after 10.6 s without an early start.
"""

import json
import os
import pwd
import shlex
import socket
import subprocess
from collections.abc import Mapping
from configparser import RawConfigParser

from sandbox_server import timeouts
from sandbox_server.boot import readiness_gate

type Pipes = dict[str, int | None]
"""Descriptors by the supervisor's names for them."""

ENVIRONMENT = {"LANG": "C.UTF-8", **timeouts.ENVIRONMENT}
"""The program's environment until it passes the gate. The container's variables, which may be secret, come later."""
ZYGOTE_VARIABLE = "SANDBOX_ZYGOTE"
"""The variable that names the descriptor from which the programs' zygote takes requests (`program_zygote`)."""


class EarlyStart:
    """A program that was started early and waits at its readiness gate.

    `process` must be kept while it runs: a dropped `Popen` would reap the child, which the supervisor does. `gate` is
    readable once the program serves or has ended. `zygote` leads to the zygote that the program leaves behind. `user` is
    the account of its configuration.
    """

    def __init__(
        self,
        name: str,
        process: "subprocess.Popen[bytes]",
        pipes: Pipes,
        end: socket.socket,
        own: Mapping[str, str],
        zygote: socket.socket,
        user: str,
    ) -> None:
        self.name = name
        self.process = process
        self.pipes = pipes
        self.gate = end
        self.zygote = zygote
        self.user = user
        self._own = own

    def go(self, environment: Mapping[str, str]) -> None:
        """Open the gate and send the program its environment."""
        try:
            self.gate.sendall(json.dumps({**environment, **self._own}).encode() + b"\n")
        except OSError:  # it has ended; the supervisor will notice and start it again
            return


def configuration(name: str) -> str:
    """Return the path of a program's supervisor configuration."""
    return f"{os.path.abspath(__file__).rpartition('/sandbox_server/')[0]}/supervisord/components/{name}.conf"


def start(name: str, configuration: str) -> EarlyStart:
    """Start the program `name` as the supervisor would from `configuration`; without root it keeps this user."""
    parser = RawConfigParser(inline_comment_prefixes=(";",))
    with open(configuration, encoding="utf-8") as file:
        parser.read_file(file)
    program = parser[f"program:{name}"]
    own = dict(pair.split("=", 1) for pair in _split_quoted(program.get("environment", "")))
    uid, gid, groups = identity(program["user"])
    ours, theirs = socket.socketpair()
    zygote, zygotes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pipes = _pipes()
    with theirs, zygotes:
        process = subprocess.Popen(
            shlex.split(program["command"]),
            stdin=pipes["child_stdin"],
            stdout=pipes["child_stdout"],
            stderr=subprocess.STDOUT,
            cwd=program.get("directory"),
            env={**ENVIRONMENT, **own, readiness_gate.VARIABLE: str(theirs.fileno()), ZYGOTE_VARIABLE: str(zygotes.fileno())},
            pass_fds=[theirs.fileno(), zygotes.fileno()],
            process_group=0,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
    return EarlyStart(name, process, pipes, ours, own, zygote, program["user"])


def _split_quoted(text: str) -> list[str]:
    """Split a text at commas outside of quotes, and remove the quotes."""
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
    """Return user, group and groups of an account for `subprocess`; none without root, because then no process can change user."""
    if os.geteuid() != 0:
        return None, None, None
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(user, entry.pw_gid)
