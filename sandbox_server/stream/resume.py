"""Session resume: what a viewer had is held for a while after it left, so one that reconnects is sent only what differs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sandbox_server.stream.plan.update_planner import UpdatePlanner

KEEP_SECONDS = 120.0
"""How long a session is held: viewers try to reconnect for as long."""
MAX_HELD = 4
"""Sessions that are held after their viewer left. Each has a shadow buffer and up to 16 MiB of cached tiles."""
LEAVE_SECONDS = 5.0


@dataclass(slots=True)
class _StreamSession:
    name: str
    leave: Callable[[], None]
    left: asyncio.Event = field(default_factory=asyncio.Event)
    planner: UpdatePlanner | None = None


class StreamSessions:
    """The sessions of connected viewers and of the latest that left, by their number and the name of the caller."""

    def __init__(self) -> None:
        self._known: dict[int, _StreamSession] = {}

    def begin(self, number: int, name: str, leave: Callable[[], None]) -> None:
        """Add the session of a viewer that has connected. `leave` disconnects it."""
        self._known[number] = _StreamSession(name, leave)

    def end(self, number: int, planner: UpdatePlanner | None) -> None:
        """Note that the viewer has left, and what it had by then."""
        session = self._known[number]
        session.planner = planner
        session.left.set()
        asyncio.get_running_loop().call_later(KEEP_SECONDS, self._known.pop, number, None)
        left = [number for number, session in self._known.items() if session.left.is_set()]
        for oldest in left[:-MAX_HELD]:
            del self._known[oldest]

    async def resume(self, number: int, name: str) -> UpdatePlanner | None:
        """What the viewer had in that session; None if it is not known. A viewer that still seems to be connected is disconnected first."""
        session = self._known.get(number)
        if session is None or session.name != name:
            return None
        session.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await session.left.wait()
        planner, session.planner = session.planner, None
        return planner
