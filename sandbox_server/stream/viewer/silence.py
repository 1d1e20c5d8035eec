"""Silence of a viewer: what it holds is released while nothing arrives, so that a stalled network repeats no key."""

import time
from collections.abc import Callable

from sandbox_server.stream import wire

OFTEN_SECONDS = 2.0
"""A viewer whose pings are closer together than this is expected to go on."""
SILENT_SECONDS = 3.0


class Silence:
    """Knows when a viewer that pings once a second has gone silent. One that pings less is never silent."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._heard_at = now()
        self._pinged_at: float | None = None
        self._pings_often = False

    def heard(self, message: wire.FromViewer) -> None:
        """Note a message of the viewer."""
        now = self._heard_at = self._now()
        if isinstance(message, wire.Ping):
            self._pings_often = self._pinged_at is not None and now - self._pinged_at < OFTEN_SECONDS
            self._pinged_at = now

    @property
    def lasts(self) -> bool:
        """Whether the viewer is silent."""
        return self._pings_often and self._now() - self._heard_at > SILENT_SECONDS
