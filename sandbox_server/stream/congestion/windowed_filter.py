"""A windowed maximum or minimum filter, as BBR keeps for its bandwidth and its round trip."""

from collections import deque

MEMORY_SECONDS = 10.0
"""How long a value counts."""


class WindowedFilter:
    """The largest, or the smallest, of the values of the last MEMORY_SECONDS. Sans-io; times are seconds of one clock."""

    def __init__(self, *, largest: bool) -> None:
        self._sign = 1 if largest else -1
        self._seen: deque[tuple[float, float]] = deque()

    def add(self, value: float, now: float) -> None:
        """Note a value."""
        while self._seen and (self._seen[-1][1] - value) * self._sign <= 0:
            self._seen.pop()
        self._seen.append((now, value))
        while self._seen[0][0] < now - MEMORY_SECONDS:
            self._seen.popleft()

    @property
    def value(self) -> float | None:
        """The largest, or the smallest; None before the first value."""
        return self._seen[0][1] if self._seen else None
