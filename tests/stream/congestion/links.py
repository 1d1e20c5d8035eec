"""A link of limited rate, on which frames queue."""

import heapq

from sandbox_server.stream.congestion.window import CongestionWindow


class Link:
    """A link of `rate` bytes a second and a delay there and back, on which frames wait for each other."""

    def __init__(self, rate: float, delay: float) -> None:
        self.window = CongestionWindow()
        self.rate = rate
        self.delay = delay
        self.now = 0.0
        self.waits: list[float] = []
        self._free = 0.0
        self._acks: list[tuple[float, int]] = []
        self._frame = 0

    def run(self, seconds: float, size: int) -> int:
        """Send frames of `size` bytes whenever the window is open; the bytes that arrived."""
        arrived, end = 0, self.now + seconds
        while self.now < end:
            while self.window.is_open:
                self._send(size)
            self.now, frame = heapq.heappop(self._acks)
            assert self.window.acked(frame, self.now)
            arrived += size
        return arrived

    def _send(self, size: int) -> None:
        self._frame += 1
        self.window.sent(self._frame, size, self.now, self.now)
        self._free = max(self._free, self.now) + size / self.rate
        self.waits.append(self._free - self.now)
        heapq.heappush(self._acks, (self._free + self.delay, self._frame))
