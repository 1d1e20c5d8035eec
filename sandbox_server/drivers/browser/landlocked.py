"""Run a program that reaches only some paths, by Landlock: `landlocked READABLE... -- WRITABLE... -- PROGRAM ARGUMENTS...`.

The program and all that it starts read and execute below the first, read and write below the second, and reach no other file. They
neither trace nor signal a process outside, whoever owns it, and gain no rights by set-user-id programs. Unix sockets that have a path
stay in reach. What does not exist is left out. Where the kernel has no Landlock it runs nothing.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sandbox_server.drivers.fence import landlock

SYSTEM = ("/usr", "/etc", "/proc", "/sys", "/var/cache/fontconfig")
"""What any program of the image reads."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm")


def command(readable: Sequence[str], writable: Sequence[str]) -> list[str]:
    """The command that runs what follows it so."""
    return [sys.executable, "-P", "-m", "sandbox_server.drivers.browser.landlocked", *readable, "--", *writable, "--"]


def environment() -> dict[str, str]:
    """What that command needs of its environment; the program does not get it."""
    return {"PYTHONPATH": str(Path(__file__).parents[3])}


def main(arguments: Sequence[str]) -> None:
    """Give up the other paths and become the program. Raises OSError."""
    first = arguments.index("--")
    second = arguments.index("--", first + 1)
    restrict(arguments[:first], arguments[first + 1 : second])
    os.environ.pop("PYTHONPATH", None)
    program = arguments[second + 1 :]
    os.execvp(program[0], list(program))


def restrict(readable: Sequence[str], writable: Sequence[str]) -> None:
    """Give up all paths but these, for this process and what it starts; permanent. Raises OSError if the kernel has no Landlock."""
    read_and_write = landlock.READING & ~landlock.EXECUTE | landlock.WRITING
    allowed: dict[int, int] = {}
    for paths, rights in ((readable, landlock.READING), (writable, read_and_write)):
        for path in paths:
            with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
                allowed[landlock.open_path(path)] = rights
    landlock.restrict(landlock.READING | landlock.WRITING, allowed)
    landlock.close_all(allowed)


if __name__ == "__main__":
    main(sys.argv[1:])
