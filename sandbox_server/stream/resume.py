"""What viewers have that went, for a while: who comes back is sent only what differs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sandbox_server.stream.plan.update_planner import UpdatePlanner

KEEP_SECONDS = 120.0
"""As long as a viewer tries to come back where the network is gone for a moment."""
MAX_LEFT = 4
"""Each has a copy of the screen, and up to 16 MiB of tiles."""
LEAVE_SECONDS = 5.0


@dataclass(slots=True)
class _StreamSession:
    name: str
    leave: Callable[[], None]
    left: asyncio.Event = field(default_factory=asyncio.Event)
    view: UpdatePlanner | None = None


class StreamSessions:
    """The sessions of viewers that are there, and of the latest that have left; known by their number and the name of the caller."""

    def __init__(self) -> None:
        self._known: dict[int, _StreamSession] = {}

    def begin(self, number: int, name: str, leave: Callable[[], None]) -> None:
        """Note that a viewer is there; `leave` has it go."""
        self._known[number] = _StreamSession(name, leave)

    def end(self, number: int, view: UpdatePlanner | None) -> None:
        """Note that it has left, and what it had by then."""
        session = self._known[number]
        session.view = view
        session.left.set()
        asyncio.get_running_loop().call_later(KEEP_SECONDS, self._known.pop, number, None)
        left = [number for number, session in self._known.items() if session.left.is_set()]
        for oldest in left[:-MAX_LEFT]:
            del self._known[oldest]

    async def resume(self, number: int, name: str) -> UpdatePlanner | None:
        """What the viewer had in that session, for who goes on with it; None if it is not known. One that seems to be there has to go."""
        session = self._known.get(number)
        if session is None or session.name != name:
            return None
        session.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await session.left.wait()
        view, session.view = session.view, None
        return view
