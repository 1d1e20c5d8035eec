"""Accepts connections of a listener, and serves each in a task of its own, within a limit that users share."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar

from sandbox_server.egress.refusals import reset

_BATCH = 64
"""Connections that are accepted before others have their turn."""
_PAUSE = 0.1
"""Seconds without accepting when this process has no descriptor left."""


CROWDED = "its user has the most connections, and others need room"
"""Why a connection ends that makes room."""

USER: ContextVar[int | None] = ContextVar("user", default=None)
"""The user whose connection a task serves, as far as the kernel knows."""

type Running = dict[asyncio.Task[None], None]


class Acceptor:
    """Serves listeners with one function, at most `limit` connections at once.

    Beyond that a connection is served in the place of the newest one of the user who has the most, and is reset if that is
    its own user. `user_of` tells the users of connections apart.
    """

    def __init__(
        self,
        serve: Callable[[socket.socket], Awaitable[None]],
        limit: int,
        user_of: Callable[[socket.socket], int | None] = lambda _: None,
    ) -> None:
        self._serve = serve
        self._limit = limit
        self._user_of = user_of
        self._listeners: list[socket.socket] = []
        self._running: set[asyncio.Task[None]] = set()
        self._running_of: dict[int | None, Running] = {}
        """By user, the oldest first."""
        self._ending: set[asyncio.Task[None]] = set()
        """Those that were told to end, which is soon."""
        self.refused = 0
        """How many connections were over the limit."""

    def __len__(self) -> int:
        return len(self._running)

    def listen(self, listener: socket.socket) -> None:
        """Accept from a listener from now on."""
        listener.setblocking(False)
        self._listeners.append(listener)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    async def close(self) -> None:
        """Accept no more, and end what is served."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.remove_reader(listener)
        for task in self._running:
            task.cancel()
        if ending := self._running | self._ending:
            await asyncio.wait(ending)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                client, _ = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                self._pause(listener)
                return
            self._begin(client)

    def _begin(self, client: socket.socket) -> None:
        user = self._user_of(client)
        if len(self._running) >= self._limit:
            self.refused += 1
            if not self._make_room(user):
                reset(client)
                return
        client.setblocking(False)
        with suppress(OSError):  # small answers must not wait for the acknowledgement of others
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.get_running_loop().create_task(self._attend(client, user))
        self._running.add(task)
        self._running_of.setdefault(user, {})[task] = None
        task.add_done_callback(lambda done: self._forget(user, client, done))

    def _make_room(self, user: int | None) -> bool:
        """End a connection of the user who has the most; False if nobody has two more than this one."""
        most = max(self._running_of.values(), key=len, default={})
        if len(most) < len(self._running_of.get(user, {})) + 2:
            return False
        ended, _ = most.popitem()
        self._running.discard(ended)
        self._ending.add(ended)
        ended.cancel(CROWDED)
        return True

    def _forget(self, user: int | None, client: socket.socket, task: asyncio.Task[None]) -> None:
        reset(client)  # it is closed already, unless it was told to end before it began
        self._running.discard(task)
        self._ending.discard(task)
        if of_user := self._running_of.get(user):
            of_user.pop(task, None)
            if not of_user:
                del self._running_of[user]

    async def _attend(self, client: socket.socket, user: int | None) -> None:
        USER.set(user)
        await self._serve(client)

    def _pause(self, listener: socket.socket) -> None:
        """Leave connections in the queue for a moment: the loop would call again at once."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        loop.call_later(_PAUSE, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)
