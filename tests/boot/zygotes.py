"""A program that has left a zygote behind, for the tests of both sides."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from sandbox_server.boot import forked_programs
from sandbox_server.boot.early_start import ZYGOTE_VARIABLE
from sandbox_server.boot.forked_programs import ForkedPrograms
from sandbox_server.boot.program_zygote import COMMAND
from sandbox_server.drivers.spawn.child_setup import Account

LEAVES = """
import json, os, sys, time
from sandbox_server.boot import program_zygote
words = program_zygote.leave_behind()
if words is None:
    os.environ["SECRET"] = "read after the fork"
    print("left", flush=True)
    time.sleep(600)
if words[0] == "status":
    keys = ("NoNewPrivs", "Uid")
    lines = dict(line.rstrip().split(":\\t", 1) for line in open("/proc/self/status") if line.startswith(keys))
    told = {"pid": os.getpid(), "parent": os.getppid(), "cwd": os.getcwd(), "environ": dict(os.environ), **lines}
    told["open"] = [os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in range(64) if os.path.exists(f"/proc/self/fd/{fd}")]
    told["command"] = open("/proc/self/cmdline").read().rstrip("\\0")
    print(json.dumps(told), flush=True)
if words[0] == "code":
    sys.exit(7)
time.sleep(600)
"""
"""A program that leaves a zygote behind, and what that forks. The command line must be as long as the API's."""


class Left:
    """A program that has left a zygote behind as a child of this process."""

    def __init__(self) -> None:
        before = children_of(os.getpid())
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            given = {**os.environ, ZYGOTE_VARIABLE: str(theirs.fileno())}
            self.process = subprocess.Popen(
                [sys.executable, "-c", LEAVES], env=given, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True
            )
        self.programs = ForkedPrograms(ours, Account.current())
        self.programs.expect(forked_programs.NAMES)
        self.channel = ours
        self.children: set[int] = {self.process.pid}
        assert self.process.stdout
        assert self.process.stdout.readline() == "left\n"
        (self.zygote,) = children_of(os.getpid()) - before - self.children
        self.children.add(self.zygote)

    def start(self, name: str, *words: str, command: tuple[str, ...] = COMMAND) -> tuple[int | None, int]:
        """Have a program forked; its process and where it writes."""
        reading, writing = os.pipe()
        with open(os.devnull, "rb") as null:
            pid = self.programs.start(
                name,
                [*command, *words],
                directory="/",
                environment={"PATH": "/usr/bin", "OWN": "x"},
                streams=(null.fileno(), writing, writing),
                others=self.children,
            )
        os.close(writing)
        if pid:
            self.children.add(pid)
        return pid, reading

    def end(self) -> None:
        """End all of it."""
        for pid in children_of(os.getpid()) & self.children:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()
        for pid in self.children - {self.process.pid}:
            with_child(pid)
        self.channel.close()


def with_child(pid: int) -> int | None:
    """Reap a child; its status, or None if that was done."""
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        return None


def children_of(pid: int) -> set[int]:
    """The children of a process, by every thread of it."""
    return {int(child) for each in Path(f"/proc/{pid}/task").iterdir() for child in (each / "children").read_text().split()}


def read(fd: int) -> str:
    """A line of what a program wrote."""
    with open(fd, encoding="utf-8") as file:
        return file.readline()
