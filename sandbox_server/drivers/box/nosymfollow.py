"""Run a program that follows no link below some directories: `nosymfollow DIRECTORY... -- PROGRAM ARGUMENTS...`.

Where there is no box, the browser sees the container's files as they are, and what it may show is decided by name: a link that the agent
makes would lead it to files of its own. In a mount namespace of the browser's own the kernel follows none. Needs user namespaces, as
Chromium's sandbox does; where there are none it says so and runs nothing.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sandbox_server.drivers.box.mount_plan import mount_points
from sandbox_server.drivers.box.namespaces import bind, follow_no_links, keep_mounts_private


def command(directories: Sequence[str]) -> list[str]:
    """The command that runs what follows it so."""
    return [sys.executable, "-P", "-m", "sandbox_server.drivers.box.nosymfollow", *directories, "--"]


def environment() -> dict[str, str]:
    """What that command needs of its environment; the program does not get it."""
    return {"PYTHONPATH": str(Path(__file__).parents[3])}


def main(arguments: Sequence[str]) -> None:
    """Enter the namespace and become the program."""
    at = arguments.index("--")
    enter(arguments[:at])
    os.environ.pop("PYTHONPATH", None)
    os.execvp(arguments[at + 1], list(arguments[at + 1 :]))


def enter(directories: Sequence[str]) -> None:
    """Have this process, and what it starts, follow no link below the directories; raises OSError."""
    user, group = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    keep_mounts_private()
    for directory in directories:
        with suppress(PermissionError):  # this user gets nowhere there anyway
            bind(directory, directory)
    for point in mount_points():
        if any(point == directory or point.startswith(f"{directory}/") for directory in directories):
            with suppress(FileNotFoundError, PermissionError):  # something else is mounted over it
                follow_no_links(point)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
