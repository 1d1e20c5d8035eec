"""Finds the process of each socket. It runs as the agent with the standard library only: nobody else may inspect the agent's processes.

It writes a JSON object with the process id and command line by socket inode.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress

MAX_COMMAND = 300
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def holders(proc: str = "/proc") -> dict[str, tuple[int, str]]:
    """Return the first process of each socket, by inode."""
    found: dict[str, tuple[int, str]] = {}
    for pid in sorted((int(name) for name in os.listdir(proc) if name.isdigit()), reverse=True):
        with suppress(OSError):  # it has ended, or belongs to another user
            command = _command(f"{proc}/{pid}")
            found |= dict.fromkeys(_sockets(f"{proc}/{pid}/fd"), (pid, command))
    return found


def _sockets(folder: str) -> Iterator[str]:
    for name in os.listdir(folder):
        with suppress(OSError):
            if socket := _SOCKET.fullmatch(os.readlink(f"{folder}/{name}")):
                yield socket[1]


def _command(folder: str) -> str:
    with open(f"{folder}/cmdline", "rb") as file:
        return file.read(MAX_COMMAND).replace(b"\0", b" ").decode("utf-8", "replace").strip()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(holders()))
