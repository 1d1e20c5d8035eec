"""The bitrate of video: raised while frames arrive without queueing, lowered when they queue. Sans-io; times are seconds of one clock."""

from sandbox_server.stream.congestion.window import CongestionWindow

MOST_BITS = 20_000_000
LEAST_BITS = 150_000
"""Bounds of the bitrate, in bits a second."""
LOWER_SECONDS = 0.2
"""A queue is seen for as long as it takes to drain: the bitrate is lowered once in this time."""
LEAST_SHARE = 0.6
"""Part of the delivered rate that video keeps. Where that much queues, other flows fill the link, and fewer bits would not help."""
RISE, FALL = 1.01, 0.85
"""Factors after each frame: without a queue, and with one."""
FULL_SHARE, PROBE_SHARE = 0.9, 0.02
"""On a link that has been full, video takes this part of the delivered rate, and so much more with each second without a queue: a video
that never fills the link would never show that the link takes more."""


class BitrateController:
    """Bits a second that the videos of one viewer may take together."""

    def __init__(self) -> None:
        self.bits = MOST_BITS
        self._lowered = 0.0
        self._queued = 0.0

    def learn(self, window: CongestionWindow, now: float) -> None:
        """Adapt to how the latest frame fared."""
        self._queued = self._queued or now
        if not window.is_queueing:
            self.bits = max(LEAST_BITS, min(MOST_BITS, int(self.bits * RISE), self._most(window, now)))
            return
        self._queued = now
        if now - self._lowered >= max(LOWER_SECONDS, window.shortest_trip):
            delivered = (window.rate or 0) * 8
            self.bits = max(LEAST_BITS, int(delivered * LEAST_SHARE), int(min(self.bits, delivered) * FALL))
            self._lowered = now

    def _most(self, window: CongestionWindow, now: float) -> int:
        """The bitrate that fills the link without a queue."""
        if window.pace is None or window.rate is None:
            return MOST_BITS
        return int(window.rate * 8 * (FULL_SHARE + PROBE_SHARE * (now - self._queued)))
