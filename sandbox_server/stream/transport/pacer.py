"""A pacer: bytes leave at a rate, with a bound on bursts, so that they do not queue on the link.

Sans-io; times are seconds of one clock.
"""

BURST_BYTES = 32 * 1024
"""Largest burst: the time of one packet is less than the precision of a timer."""


class Pacer:
    """Spaces what is sent to one viewer. `rate` is in bytes a second, None while it is unknown."""

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
