"""Which process listens on a port.

A program of the agent finds out, because only the agent may inspect its processes.
"""

import json
from dataclasses import dataclass

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.ports import socket_holders
from sandbox_server.drivers.spawn.process import Processes, User
from sandbox_server.timeouts import scaled

SECONDS = scaled(10.0)
MAX_OUTPUT = 4 << 20


@dataclass(frozen=True, slots=True)
class Holder:
    """A process of the agent, with its process id in the agent's namespace."""

    pid: int
    command: str


class PortHolders:
    """Inspects processes as `user`, who sees only its own unless it is root."""

    def __init__(self, processes: Processes, user: User) -> None:
        self._processes = processes
        self._user = user

    async def find(self) -> dict[int, Holder]:
        """Return the processes that hold sockets, by inode; empty if unknown."""
        argv = ["/usr/bin/python3", "-I", "-S", socket_holders.__file__]
        try:
            done = await self._processes.run(argv, user=self._user, cwd="/", timeout=SECONDS, max_output=MAX_OUTPUT)
            return {int(inode): Holder(int(pid), _printable_command(command)) for inode, (pid, command) in json.loads(done.stdout).items()}
        except (Failure, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}


def _printable_command(command: object) -> str:
    """Return a command line without control characters: its process may have written anything there."""
    text = str(command)[: socket_holders.MAX_COMMAND]
    return "".join(character if character.isprintable() else " " for character in text)
