"""Which process holds a socket. A program of the standard library alone, run as the agent: nobody else may look into its processes.

It writes a JSON object: the socket's inode, and with it the process's number and command line.
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
    """The first process that holds each socket, by the socket's inode."""
    found: dict[str, tuple[int, str]] = {}
    for pid in sorted((int(name) for name in os.listdir(proc) if name.isdigit()), reverse=True):
        with suppress(OSError):  # it has ended, or is somebody else's
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
