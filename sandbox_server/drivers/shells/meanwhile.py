"""tmux servers for shells that people open while the agent's stands still: one for each pause, since the next one stops it, too."""

import secrets
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.spawn.process import Processes


class MeanwhileServers:
    """Makes them as they are needed; an asynchronous context manager. `pause` gives what tells one pause from another, None for none.

    Their sockets are in `directory`. A server that starts anew does not know of what runs in them.
    """

    def __init__(self, processes: Processes, directory: str, pause: Callable[[], object | None]) -> None:
        self._processes = processes
        self._directory = directory
        self._pause = pause
        self._made: list[Tmux] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for server in self._made:
            await server.__aexit__(kind, error, trace)

    def server(self) -> Tmux:
        """The one that was begun in this pause."""
        if not self._made or self._made[-1].paused:
            name = f"meanwhile-{secrets.token_hex(4)}.sock"
            self._made.append(Tmux(self._processes, self._directory, partial(self._is_over, self._pause()), socket_name=name))
        return self._made[-1]

    def _is_over(self, pause: object) -> bool:
        """Whether another pause has begun since."""
        now = self._pause()
        return now is not None and now is not pause

    def ended(self) -> None:
        """Take the end of all of them: they ended with their box."""
        for server in self._made:
            server.ended()
