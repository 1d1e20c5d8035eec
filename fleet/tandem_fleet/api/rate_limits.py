"""How often a key may call: token buckets in this process's memory."""

import math
import time
from dataclasses import dataclass

from tandem_fleet.errors import TooManyRequestsError

BURST_SECONDS = 10.0
"""A key that was idle may call as often at once as it may in this time."""
MOST = 10_000
"""Buckets that are kept; full ones go first."""


@dataclass
class _Bucket:
    left: float
    at: float


class RateLimits:
    """The buckets. A service that is started again begins with full ones, and each of several services has its own."""

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}

    def take(self, who: str, per_minute: int) -> None:
        """Count a call. Raises `TooManyRequestsError`, which says when to call again."""
        now, rate = time.monotonic(), per_minute / 60
        most = max(1.0, rate * BURST_SECONDS)
        bucket = self._buckets.get(who)
        if bucket is None:
            if len(self._buckets) >= MOST:
                self._forget(now)
            bucket = self._buckets[who] = _Bucket(most, now)
        bucket.left, bucket.at = min(most, bucket.left + (now - bucket.at) * rate), now
        if bucket.left < 1:
            raise TooManyRequestsError(f"this key may call {per_minute} times a minute", retry_after=math.ceil((1 - bucket.left) / rate))
        bucket.left -= 1

    def _forget(self, now: float) -> None:
        self._buckets = {who: bucket for who, bucket in self._buckets.items() if now - bucket.at < BURST_SECONDS}
