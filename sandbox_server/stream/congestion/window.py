"""The congestion window of one viewer: the rate that it takes, times the round trip.

Sans-io; times are seconds of one clock. The rate is what acknowledgements show was delivered, as in BBR (Cardwell and others, ACM Queue
14-5, 2016). A packet that is lost at random delays an acknowledgement and lowers no rate. A queue that grows is met by sending no more than
was delivered.
"""

from collections import deque
from dataclasses import dataclass

from sandbox_server.stream.congestion.windowed_filter import WindowedFilter

FIRST_BYTES = 64 * 1024
"""Bytes in flight before anything is known."""
LEAST_BYTES = 48 * 1024
"""Some frames of a video: the loss of a packet is noticed soon only where others follow it."""
MOST_SHOWING_SECONDS = 0.15
"""The viewer decodes several frames at once, so the time that this takes counts as in flight, up to this bound."""
SMOOTHING = 1 / 8
SPARE_SECONDS = 1 / 15
"""So much beyond the round trip may be in flight, two frames, so that a viewer never waits for the next one."""
GAIN = 1.25
"""More than was delivered may be sent, or it would never be found out that the link takes more."""
QUEUE_SECONDS = 0.04
"""Frames that are later than this, and than half the round trip, met a queue."""
QUEUED_FRAMES = 4
"""So many in a row have to be late. A lost packet delays one frame, and those that arrived meanwhile."""
LEAST_PACE = 64 * 1024
"""Bytes a second."""
LEAST_ROOM = 24 * 1024
ROOM_SECONDS = 0.1
"""What one frame may take of a link that is full."""
MOST_FRAMES = 120
"""Frames in flight, however small, to a viewer that acknowledges nothing."""


@dataclass(frozen=True, slots=True)
class _FrameInFlight:
    frame: int
    size: int
    began: float
    ended: float
    delivered: int
    delivered_at: float
    delivered_ended: float
    full: bool


class CongestionWindow:
    """What is in flight to one viewer, and how much may be."""

    def __init__(self) -> None:
        self._in_flight: deque[_FrameInFlight] = deque()
        self._bytes = 0
        self._delivered = 0
        self._delivered_at = 0.0
        self._delivered_ended = 0.0
        self._closed = 0.0
        self._closed_at: float | None = None
        self._rates = WindowedFilter(largest=True)
        self._trips = WindowedFilter(largest=False)
        self._latest: deque[float] = deque(maxlen=QUEUED_FRAMES)
        self._filled = False
        self._showing = 0.0
        self.round_trip = 0.0
        """Seconds from sending the latest acknowledged frame to its ack, without the time in which it arrived and was shown."""

    @property
    def is_open(self) -> bool:
        """Whether another frame may be sent now."""
        return not self._in_flight or (self._bytes < self.limit and len(self._in_flight) < MOST_FRAMES)

    @property
    def limit(self) -> float:
        """Bytes that may be in flight."""
        rate = self.rate
        if rate is None:
            return FIRST_BYTES
        return max(LEAST_BYTES, GAIN * rate * (self.shortest_trip + self._showing + SPARE_SECONDS))

    @property
    def pace(self) -> float | None:
        """Bytes a second at which to send: a little more than the viewer takes. None before that is known."""
        return max(LEAST_PACE, GAIN * self.rate) if self._filled and self.rate else None

    @property
    def room(self) -> int | None:
        """Most bytes of one frame, so that what becomes urgent meanwhile does not wait for long. None where the link is not full."""
        return None if self.pace is None else max(LEAST_ROOM, int(self.pace * ROOM_SECONDS))

    @property
    def in_flight(self) -> float:
        """Bytes of packets in flight on a full link, lost ones included."""
        return 2 * (self.rate or 0.0) * self.shortest_trip + LEAST_BYTES

    @property
    def queue(self) -> float:
        """Seconds that each of the latest frames took beyond the shortest recent round trip."""
        return min(self._latest, default=0.0) - self.shortest_trip

    @property
    def is_queueing(self) -> bool:
        """Whether the latest frames met a queue."""
        return self.queue > max(QUEUE_SECONDS, self.shortest_trip / 2)

    @property
    def shortest_trip(self) -> float:
        """The shortest recent round trip, in seconds."""
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
        if not self._in_flight:
            self._delivered_at = self._delivered_ended = began
        self._bytes += size
        full = self._bytes >= self.limit
        self._in_flight.append(_FrameInFlight(frame, size, began, ended, self._delivered, self._delivered_at, self._delivered_ended, full))
        self._closed += ended - began
        if not self.is_open:
            self._closed_at = ended

    def acked(self, frame: int, now: float, shown_after: float = 0.0, received_in: float = 0.0) -> bool:
        """Note that a frame and all before it are on the viewer's screen; False if no such frame was in flight.

        `shown_after` is how long the viewer took to show it, `received_in` is from its first byte to its last, in seconds.
        """
        if not self._in_flight or not self._in_flight[0].frame <= frame <= self._in_flight[-1].frame:
            return False
        while self._in_flight and self._in_flight[0].frame <= frame:
            latest = self._in_flight.popleft()
            self._bytes -= latest.size
            self._delivered += latest.size
        self._delivered_at, self._delivered_ended = now, latest.ended
        if self._closed_at is not None and self.is_open:
            self._closed, self._closed_at = self.closed(now), None
        self._learn(latest, now, shown_after, received_in)
        return True

    def _learn(self, sent: _FrameInFlight, now: float, shown_after: float, received_in: float) -> None:
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
