"""Proactive retransmission: small messages are sent twice while packets are lost. Sans-io; times are seconds of one clock.

To notice a loss takes a round trip at least, and half as long again where no packet follows. A frame of a page that scrolls, or the effect
of a click, is a few packets. Sent twice, one in a hundred is late where one in ten is lost, for bytes that the link has room for.
"""

from collections import deque

RESENT_BYTES = 8 * 1024
"""A longer message is not sent twice: enough packets follow each of its own to show a loss soon."""
LOST = 3
LOSSY_PACKETS, LOSSY_SECONDS = 300, 60.0
"""So many packets lost, of so many sent and within so long, make a link lossy."""
SHARE = 0.25
"""Part of the link's known rate that may be spent."""
MOST_RATE = 128 * 1024
"""Most bytes a second that may be spent, and the bytes while no rate is known."""


class ProactiveResend:
    """Decides for one viewer. `rate` is what the link takes, in bytes a second, None while that is unknown."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._sent = 0
        self._lost: deque[tuple[float, int]] = deque(maxlen=LOST)
        self._spent_until = 0.0

    def sent(self) -> None:
        """Note that a packet was sent."""
        self._sent += 1

    def lost(self, now: float) -> None:
        """Note that a packet was lost at random, and not to congestion."""
        self._lost.append((now, self._sent))

    def take(self, size: int, now: float) -> bool:
        """Whether to send a message of so many bytes twice; if so, they count as spent."""
        rate = MOST_RATE if self.rate is None else min(MOST_RATE, self.rate * SHARE)
        if not self._is_lossy(now) or size > RESENT_BYTES or self._spent_until - now > RESENT_BYTES / rate:
            return False
        self._spent_until = max(self._spent_until, now) + size / rate
        return True

    def _is_lossy(self, now: float) -> bool:
        if len(self._lost) < LOST:
            return False
        at, sent = self._lost[0]
        return now - at < LOSSY_SECONDS and self._sent - sent < LOSSY_PACKETS
