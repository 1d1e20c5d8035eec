"""Change notifications: on a session's event stream, or on a `subscriptions/listen` stream (MCP 2026-07-28)."""

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
from sandbox_server.mcp.transport.request_context import RequestContext

EVERY_LIST: tuple[ServerEvent, ...] = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())


class ChangeNotifications:
    """Broadcasts changes to clients; equal notifications that wait to be sent are merged. Close it with `close`."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.has_audience = asyncio.Event()
        """Set while a session is open or a client listens."""
        self._listeners = 0
        self._sessions: dict[Connection, set[str]] = {}
        self._pending: set[tuple[Connection, ServerEvent]] = set()
        self._sending: WeakKeyDictionary[Connection, asyncio.Lock] = WeakKeyDictionary()
        self._tasks = Tasks()

    async def close(self) -> None:
        """Stop sending."""
        await self._tasks.close()

    async def session_opened(self, context: RequestContext, _: Any) -> None:
        """Notify a session from now on."""
        self.subscriptions_of(context)

    def subscriptions_of(self, context: RequestContext) -> set[str]:
        """The resource URIs that a session subscribes to, to add to and remove from."""
        connection = context.session._connection  # the SDK has no public way to a handler's connection
        if connection not in self._sessions:
            self._sessions[connection] = set()
            connection.exit_stack.callback(self._session_closed, connection)
            self.has_audience.set()
        return self._sessions[connection]

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count one listener on the bus while the context is open."""
        self._listeners += 1
        self.has_audience.set()
        try:
            yield
        finally:
            self._listeners -= 1
            self._update_audience()

    def _session_closed(self, connection: Connection) -> None:
        self._sessions.pop(connection, None)
        self._update_audience()

    def _update_audience(self) -> None:
        if not self._sessions and not self._listeners:
            self.has_audience.clear()

    def publish(self, *events: ServerEvent) -> None:
        """Notify every concerned client in the background."""
        for event in events:
            self._tasks.start(self.bus.publish(event), name="notify listeners")
            for connection, uris in self._sessions.items():
                is_concerned = not isinstance(event, ResourceUpdated) or event.uri in uris
                if is_concerned and (connection, event) not in self._pending:
                    self._pending.add((connection, event))
                    self._tasks.start(self._send(connection, event), name="notify a session")

    async def _send(self, connection: Connection, event: ServerEvent) -> None:
        """Send in order for each session, so that a slow reader delays only itself."""
        notification = event_to_notification(event, {}).model_dump(by_alias=True, mode="json", exclude_none=True)
        async with self._sending.setdefault(connection, asyncio.Lock()):
            self._pending.discard((connection, event))
            await connection.notify(notification["method"], notification.get("params"))
