"""Revoked sessions, by name, stored until they would have expired anyway."""

import asyncio
import time
from collections.abc import Callable

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.storage.json_file import JsonFile

MAX_REVOKED = 4096
"""Limit of stored names."""


class Revoked:
    """The names of revoked sessions, in a file that survives a restart of this process."""

    def __init__(self, file: JsonFile, lifetime: float, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._lifetime = lifetime
        self._now = now
        self._until: dict[str, float] | None = None
        self._ends: dict[str, asyncio.Event] = {}

    def holds(self, name: str) -> bool:
        """Whether a name is revoked."""
        return self._live().get(name, 0) > self._now()

    def add(self, name: str) -> None:
        """Revoke a name for as long as any session lasts. Raises ResourceExhausted at the limit."""
        kept = {each: until for each, until in self._live().items() if until > self._now()}
        if len(kept) >= MAX_REVOKED:
            raise ResourceExhausted(f"{MAX_REVOKED} sessions are void already", limit=MAX_REVOKED)
        self._until = kept | {name: self._now() + self._lifetime}
        self._file.write(self._until)
        if name in self._ends:
            self._ends.pop(name).set()

    async def end_of(self, name: str) -> None:
        """Wait until a name is revoked."""
        if not self.holds(name):
            await self._ends.setdefault(name, asyncio.Event()).wait()

    def disconnect(self, prefix: str) -> None:
        """End the open connections of names with this prefix. Revoke their sessions first, or they reconnect."""
        for name in [each for each in self._ends if each.startswith(prefix)]:
            self._ends.pop(name).set()

    def forget(self) -> None:
        """End all open connections of sessions, and read the file again at the next use."""
        self.disconnect("")
        self._until = None

    def _live(self) -> dict[str, float]:
        if self._until is None:
            self._until = self._file.read() or {}
        return self._until
