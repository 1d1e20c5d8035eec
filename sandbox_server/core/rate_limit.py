"""Token buckets: how many calls a caller may make in a time."""

import time
from collections import OrderedDict
from collections.abc import Callable

from sandbox_server.core.errors import ResourceExhausted

MAX_CALLERS = 1024
"""Limit of callers that are remembered; the longest unseen one is forgotten."""


class RateLimit:
    """A bucket for each caller and one for all: `burst` calls at once, then `per_second`. All together have four times that."""

    def __init__(self, what: str, burst: int, per_second: float, now: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._burst = burst
        self._per_second = per_second
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._all = (4.0 * burst, now())

    def take(self, caller: str) -> None:
        """Count one call of a caller. Raises ResourceExhausted."""
        now = self._now()
        own = self._filled(self._buckets.get(caller, (float(self._burst), now)), 1, now)
        everyone = self._filled(self._all, 4, now)
        if min(own, everyone) < 1:
            wait = (1 - own) / self._per_second if own < 1 else (1 - everyone) / (4 * self._per_second)
            raise ResourceExhausted(f"too many {self._what}", retry_after=wait)
        self._buckets[caller] = (own - 1, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        self._all = (everyone - 1, now)

    def _filled(self, bucket: tuple[float, float], shares: int, now: float) -> float:
        left, at = bucket
        return min(float(shares * self._burst), left + (now - at) * shares * self._per_second)
