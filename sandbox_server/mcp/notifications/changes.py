"""Clients are told what has changed: those with a session on its event stream, those of 2026-07-28 on the stream where they listen."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)

from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.tools.api_tools import Context

EVERY_LIST: tuple[ServerEvent, ...] = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())


class ChangeNotifications:
    """Fans out what changes; each change says only that something did, so that two of a kind are one. End it with `close`."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.somebody = asyncio.Event()
        """Set while a session is open or somebody listens."""
        self._listeners = 0
        self._sessions: dict[Connection, set[str]] = {}
        self._unsent: set[tuple[Connection, ServerEvent]] = set()
        self._sending: WeakKeyDictionary[Connection, asyncio.Lock] = WeakKeyDictionary()
        self._tasks = Tasks()

    async def close(self) -> None:
        """Tell nobody any more."""
        await self._tasks.close()

    async def joined(self, context: Context, _: Any) -> None:
        """Tell a session from now on; the addresses that it follows, where it follows any, are in `followed`."""
        self.followed(context)

    def followed(self, context: Context) -> set[str]:
        """The addresses whose changes a session is told of, to add to and to take from."""
        connection = context.session._connection  # the SDK shows a handler its connection in no other way
        if connection not in self._sessions:
            self._sessions[connection] = set()
            connection.exit_stack.callback(self._left, connection)
            self.somebody.set()
        return self._sessions[connection]

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While it is open somebody listens on the bus."""
        self._listeners += 1
        self.somebody.set()
        try:
            yield
        finally:
            self._listeners -= 1
            self._look_around()

    def _left(self, connection: Connection) -> None:
        self._sessions.pop(connection, None)
        self._look_around()

    def _look_around(self) -> None:
        if not self._sessions and not self._listeners:
            self.somebody.clear()

    def tell(self, *events: ServerEvent) -> None:
        """Tell everybody whom it concerns, in the background."""
        for event in events:
            self._tasks.start(self.bus.publish(event), name="tell who listens")
            for connection, addresses in self._sessions.items():
                concerned = not isinstance(event, ResourceUpdated) or event.uri in addresses
                if concerned and (connection, event) not in self._unsent:
                    self._unsent.add((connection, event))
                    self._tasks.start(self._send(connection, event), name="tell a session")

    async def _send(self, connection: Connection, event: ServerEvent) -> None:
        """A session that does not read its stream holds up itself alone."""
        notification = event_to_notification(event, {}).model_dump(by_alias=True, mode="json", exclude_none=True)
        async with self._sending.setdefault(connection, asyncio.Lock()):
            self._unsent.discard((connection, event))
            await connection.notify(notification["method"], notification.get("params"))
