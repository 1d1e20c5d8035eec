"""A head start: a program of the supervisor's that boot starts itself, because it imports for longer than boot takes.

It waits at its gate until everything is prepared. It is a child of the process that becomes the supervisor, which adopts it.
"""

import os
import shlex
import socket
import subprocess
from collections.abc import Mapping
from configparser import RawConfigParser
from dataclasses import dataclass

from sandbox_server import gate
from sandbox_server.drivers.child import Account

type Pipes = dict[str, int | None]
"""Descriptors by the supervisor's names for them."""


@dataclass(frozen=True)
class HeadStart:
    """A program that runs, and waits."""

    name: str
    process: "subprocess.Popen[bytes]"
    """Kept for as long as the process: what forgets one reaps it, and that is the supervisor's to do."""
    pipes: Pipes
    gate: socket.socket
    """Readable once the program serves, or has ended."""

    def go(self) -> None:
        """Tell it that everything is prepared."""
        try:
            self.gate.send(b"x")
        except OSError:  # it has ended; the supervisor will see that, and start it anew
            return


def start(name: str, configuration: str, environment: Mapping[str, str]) -> HeadStart:
    """Start the program `name` as the supervisor would from `configuration`; without root it stays this user's."""
    parser = RawConfigParser(inline_comment_prefixes=(";",))
    with open(configuration, encoding="utf-8") as file:
        parser.read_file(file)
    program = parser[f"program:{name}"]
    own = dict(pair.split("=", 1) for pair in _listed(program.get("environment", "")))
    uid, gid, groups = _identity(program["user"])
    ours, theirs = socket.socketpair()
    pipes = _pipes()
    with theirs:
        process = subprocess.Popen(
            shlex.split(program["command"]),
            stdin=pipes["child_stdin"],
            stdout=pipes["child_stdout"],
            stderr=subprocess.STDOUT,
            cwd=program.get("directory"),
            env={**environment, **own, gate.VARIABLE: str(theirs.fileno())},
            pass_fds=[theirs.fileno()],
            process_group=0,
            user=uid,
            group=gid,
            extra_groups=groups,
        )
    return HeadStart(name, process, pipes, ours)


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


def _identity(user: str) -> tuple[int, int, tuple[int, ...]] | tuple[None, None, None]:
    if os.geteuid() != 0:
        return None, None, None
    account = Account.named(user)
    return account.uid, account.gid, account.groups
