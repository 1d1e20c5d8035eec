"""Screen changes: the X server reports a change once, then not again before the next look.

A still screen costs nothing.
"""

import asyncio
from types import TracebackType
from typing import Any, Self

from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.damage import Damage


class ScreenChanges:
    """The changes of the display `name` from its first `look` on; an asynchronous context manager."""

    def __init__(self, name: str) -> None:
        self._connection = X11Connection(name, opened=self._opened, event=self._on_event, lost=self._tell)
        self._damage: Damage | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._connection.__aexit__(kind, error, trace)

    async def look(self) -> None:
        """Acknowledge all changes so far. Raises Unavailable while there is no desktop."""
        self._changed.clear()
        await self._connection.call(self._fetch)

    async def changed(self) -> None:
        """Wait until something has changed since the last look, or the desktop has ended."""
        await self._changed.wait()

    def _opened(self, display: Display) -> None:
        self._damage = Damage(display)

    def _fetch(self, _: Display) -> None:
        if self._damage:
            self._damage.fetch()

    def _on_event(self, _: Display, event: Any) -> None:
        if self._damage and self._damage.is_in(event):
            self._tell()

    def _tell(self) -> None:
        """Notify the loop, from the connection's thread."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)
