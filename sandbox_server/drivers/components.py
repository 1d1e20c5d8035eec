"""Whether the components of this container answer."""

import asyncio
from collections.abc import Mapping

PATIENCE_SECONDS = 1.0
"""A component that does not accept a connection within this is down."""


class Components:
    """The sockets of the components by name."""

    def __init__(self, sockets: Mapping[str, str]) -> None:
        self._sockets = sockets

    async def states(self) -> dict[str, str]:
        """`ready` or what is wrong, for each component."""
        found = await asyncio.gather(*(self._state(path) for path in self._sockets.values()))
        return dict(zip(self._sockets, found, strict=True))

    async def _state(self, path: str) -> str:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                _, writer = await asyncio.open_unix_connection(path)
        except FileNotFoundError:
            return "not started"
        except (ConnectionError, OSError, TimeoutError):
            return "not answering"
        writer.close()
        return "ready"
