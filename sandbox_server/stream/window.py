"""How much may be on its way to a viewer: the rate that it takes, times the time there and back.

Sans-io; times are seconds of one clock. The rate is what acks show was delivered, as in BBR (Cardwell and others, ACM Queue 14-5, 2016):
a packet that is lost at random delays an ack and lowers no rate, a queue that grows is met by sending no more than was delivered.
"""

from collections import deque
from dataclasses import dataclass

FIRST_BYTES = 64 * 1024
"""What may be on its way before anything is known."""
LEAST_BYTES = 48 * 1024
"""Some frames of a film: a packet that is lost is missed soon only where others follow it."""
MOST_SHOWING_SECONDS = 0.15
"""The viewer's decoders work on several frames at once, so what they take is on its way, too; up to a bound."""
SMOOTHING = 1 / 8
SPARE_SECONDS = 1 / 15
"""Beyond the time there and back, this much may be on its way, so that a viewer never waits for the next frame: two of them."""
GAIN = 1.25
"""More than was delivered may be sent, or it would never be found out that more can be."""
MEMORY_SECONDS = 10.0
"""How long the highest rate and the shortest time count."""
MOST_BITS = 20_000_000
LEAST_BITS = 150_000
QUEUE_SECONDS = 0.04
"""Frames that wait longer than this, and than half the time there and back, met a queue."""
QUEUED_FRAMES = 4
"""So many in a row wait in a queue; a packet that was lost makes one wait, and those that came meanwhile."""
LEAST_PACE = 64 * 1024
"""Bytes a second."""
LEAST_ROOM = 24 * 1024
ROOM_SECONDS = 0.1
"""What a frame may take of a link that is full."""
LOWER_SECONDS = 0.2
"""A queue is met for as long as it takes to drain: the rate is lowered once in this time."""
LEAST_SHARE = 0.6
"""Of what was delivered of late: where that queues, it is not the link that is slow, and fewer bits would not help."""
RISE, FALL = 1.01, 0.85
"""After each frame without a queue; after one with."""
FULL_SHARE, PROBE_SHARE = 0.9, 0.02
"""Where the link has been full, films take this share of what was delivered, and so much more with each second without a queue: a film
that never fills the link would never show that it takes more."""
MOST_FRAMES = 120
"""A viewer that acknowledges nothing is not sent more frames than this, however small."""


@dataclass(frozen=True, slots=True)
class _Sent:
    frame: int
    size: int
    began: float
    ended: float
    delivered: int
    delivered_at: float
    delivered_ended: float
    full: bool


class Best:
    """The best of the values that were seen in the last MEMORY_SECONDS."""

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
        """The best; None before there is any."""
        return self._seen[0][1] if self._seen else None


class FilmRate:
    """Bits a second that films may take: more while frames come through without waiting, less when they queue."""

    def __init__(self) -> None:
        self.bits = MOST_BITS
        self._lowered = 0.0
        self._queued = 0.0

    def learn(self, window: "Window", now: float) -> None:
        """Look at how the latest frame fared."""
        self._queued = self._queued or now
        if not window.queues:
            self.bits = max(LEAST_BITS, min(MOST_BITS, int(self.bits * RISE), self._most(window, now)))
            return
        self._queued = now
        if now - self._lowered >= max(LOWER_SECONDS, window.shortest_trip):
            delivered = (window.rate or 0) * 8
            self.bits = max(LEAST_BITS, int(delivered * LEAST_SHARE), int(min(self.bits, delivered) * FALL))
            self._lowered = now

    def _most(self, window: "Window", now: float) -> int:
        """What they may take without a queue."""
        if window.pace is None or window.rate is None:
            return MOST_BITS
        return int(window.rate * 8 * (FULL_SHARE + PROBE_SHARE * (now - self._queued)))


class Window:
    """What is on its way to one viewer."""

    def __init__(self) -> None:
        self._way: deque[_Sent] = deque()
        self._bytes = 0
        self._delivered = 0
        self._delivered_at = 0.0
        self._delivered_ended = 0.0
        self._closed = 0.0
        self._closed_at: float | None = None
        self._rates = Best(largest=True)
        self._trips = Best(largest=False)
        self._latest: deque[float] = deque(maxlen=QUEUED_FRAMES)
        self._filled = False
        self._showing = 0.0
        self.round_trip = 0.0
        """Seconds from sending the latest frame that was acknowledged to its ack, without what it took to arrive whole and to be shown."""

    @property
    def is_open(self) -> bool:
        """Whether another frame may be sent now."""
        return not self._way or (self._bytes < self.limit and len(self._way) < MOST_FRAMES)

    @property
    def limit(self) -> float:
        """Bytes that may be on their way."""
        rate = self.rate
        if rate is None:
            return FIRST_BYTES
        return max(LEAST_BYTES, GAIN * rate * (self.shortest_trip + self._showing + SPARE_SECONDS))

    @property
    def pace(self) -> float | None:
        """Bytes a second at which to send, a little more than the viewer takes; None before that was found out."""
        return max(LEAST_PACE, GAIN * self.rate) if self._filled and self.rate else None

    @property
    def room(self) -> int | None:
        """Bytes that one frame should have at most, so that what is urgent by then does not wait for long; None where nothing is full."""
        return None if self.pace is None else max(LEAST_ROOM, int(self.pace * ROOM_SECONDS))

    @property
    def in_flight(self) -> float:
        """Bytes of packets that are on their way, where the link is full and those that were lost count, too."""
        return 2 * (self.rate or 0.0) * self.shortest_trip + LEAST_BYTES

    @property
    def queue(self) -> float:
        """Seconds that each of the latest frames took beyond the shortest time there and back of late."""
        return min(self._latest, default=0.0) - self.shortest_trip

    @property
    def queues(self) -> bool:
        """Whether the latest frames met a queue."""
        return self.queue > max(QUEUE_SECONDS, self.shortest_trip / 2)

    @property
    def shortest_trip(self) -> float:
        """The shortest time there and back of late, in seconds."""
        return self._trips.value or 0.0

    @property
    def rate(self) -> float | None:
        """Bytes a second that the viewer takes, at least; None before its first ack."""
        return self._rates.value

    def closed(self, now: float) -> float:
        """Seconds until now in which nothing more could be sent."""
        return self._closed + (0.0 if self._closed_at is None else now - self._closed_at)

    def sent(self, frame: int, size: int, began: float, ended: float) -> None:
        """Note that a frame of `size` bytes was sent from `began` to `ended`."""
        if not self._way:
            self._delivered_at = self._delivered_ended = began
        self._bytes += size
        full = self._bytes >= self.limit
        self._way.append(_Sent(frame, size, began, ended, self._delivered, self._delivered_at, self._delivered_ended, full))
        self._closed += ended - began
        if not self.is_open:
            self._closed_at = ended

    def acked(self, frame: int, now: float, shown_after: float = 0.0, received_in: float = 0.0) -> bool:
        """Note that a frame, and with it all before it, is on the viewer's screen; whether such a frame was on its way.

        In seconds: `shown_after` is what the viewer took to show it, `received_in` is from its first byte there to its last.
        """
        if not self._way or not self._way[0].frame <= frame <= self._way[-1].frame:
            return False
        while self._way and self._way[0].frame <= frame:
            latest = self._way.popleft()
            self._bytes -= latest.size
            self._delivered += latest.size
        self._delivered_at, self._delivered_ended = now, latest.ended
        if self._closed_at is not None and self.is_open:
            self._closed, self._closed_at = self.closed(now), None
        self._learn(latest, now, shown_after, received_in)
        return True

    def _learn(self, sent: _Sent, now: float, shown_after: float, received_in: float) -> None:
        self.round_trip = max(0.0, now - sent.began - shown_after - received_in)
        self._latest.append(self.round_trip)
        self._showing += (min(shown_after, MOST_SHOWING_SECONDS) - self._showing) * SMOOTHING
        self._trips.add(self.round_trip, now)
        # Frames that waited for a lost packet are acknowledged all at once: they came no faster than they were sent.
        took = max(now - sent.delivered_at, sent.ended - sent.delivered_ended)
        rate = (self._delivered - sent.delivered) / max(1e-4, took)
        known = self.rate
        self._filled |= sent.full
        if sent.full or known is None or rate > known:  # where little was sent, little was delivered: that says nothing
            self._rates.add(rate, now)
