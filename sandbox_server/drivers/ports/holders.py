"""Whose program listens on a port: asked of the agent's side, which alone may look into its processes."""

import json
from dataclasses import dataclass

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.ports import socket_holders
from sandbox_server.drivers.spawn.process import Processes, User

SECONDS = 10.0
MAX_OUTPUT = 4 << 20


@dataclass(frozen=True, slots=True)
class Holder:
    """A process of the agent's, by the number that it knows itself by."""

    pid: int
    command: str


class PortHolders:
    """Looks as `user`, who sees its own processes alone unless it is root."""

    def __init__(self, processes: Processes, user: User) -> None:
        self._processes = processes
        self._user = user

    async def find(self) -> dict[int, Holder]:
        """The processes that hold sockets, by the socket's inode; nothing where it cannot be found out."""
        argv = ["/usr/bin/python3", "-I", "-S", socket_holders.__file__]
        try:
            done = await self._processes.run(argv, user=self._user, cwd="/", timeout=SECONDS, max_output=MAX_OUTPUT)
            return {int(inode): Holder(int(pid), _shown(command)) for inode, (pid, command) in json.loads(done.stdout).items()}
        except (Failure, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}


def _shown(command: object) -> str:
    """A command line as a person is shown it: its process may have written anything there."""
    text = str(command)[: socket_holders.MAX_COMMAND]
    return "".join(character if character.isprintable() else " " for character in text)
