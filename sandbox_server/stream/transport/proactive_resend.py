"""Which messages to send twice: small ones, while packets are lost.

To notice that a packet was lost takes the time there and back at least, and half as long again where nothing follows it. A frame of a
page that scrolls, or what a click does, is a few packets: sent twice, one in a hundred is late where one in ten is lost, for bytes that the
link has room for. Sans-io; times are seconds of one clock.
"""

from collections import deque

REPEATED_BYTES = 8 * 1024
"""A longer message is not repeated: it has packets enough behind each that tell soon that one was lost."""
LOST = 3
LOSSY_PACKETS, LOSSY_SECONDS = 300, 60.0
"""Where so many packets are lost among so many that were sent, and in so long, more will be."""
SHARE = 0.25
"""Of the rate that the link is known to take, which may be spent."""
MOST_RATE = 128 * 1024
"""Bytes a second that may be spent at most, and where no rate is known."""


class ProactiveResend:
    """Decides for one viewer; `rate` is the bytes a second that the link takes, None where that is not known."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._sent = 0
        self._lost: deque[tuple[float, int]] = deque(maxlen=LOST)
        self._spent_until = 0.0

    def sent(self) -> None:
        """Note that a packet was sent."""
        self._sent += 1

    def lost(self, now: float) -> None:
        """Note that a packet was lost by accident, and not because others fill the link."""
        self._lost.append((now, self._sent))

    def take(self, size: int, now: float) -> bool:
        """Whether to repeat a message of that size, in bytes; it counts as spent then."""
        rate = MOST_RATE if self.rate is None else min(MOST_RATE, self.rate * SHARE)
        if not self._is_lossy(now) or size > REPEATED_BYTES or self._spent_until - now > REPEATED_BYTES / rate:
            return False
        self._spent_until = max(self._spent_until, now) + size / rate
        return True

    def _is_lossy(self, now: float) -> bool:
        if len(self._lost) < LOST:
            return False
        at, sent = self._lost[0]
        return now - at < LOSSY_SECONDS and self._sent - sent < LOSSY_PACKETS
