"""When the next bytes may leave, so that they do not queue on the way: at a rate, with a bound on what leaves at once.

Sans-io; times are seconds of one clock.
"""

BURST_BYTES = 32 * 1024
"""What may leave at once: a packet's worth of time is less than what a timer keeps to."""


class Pacer:
    """Spaces what is sent; `rate` is bytes a second, None where nothing is known that would bound it."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._through = 0.0

    def wait(self, now: float) -> float:
        """Seconds until more may leave; 0 if it may now."""
        if self.rate is None:
            return 0.0
        return max(0.0, self._through - BURST_BYTES / self.rate - now)

    def spend(self, size: int, now: float) -> None:
        """Note that `size` bytes leave."""
        if self.rate is not None:
            self._through = max(self._through, now) + size / self.rate
