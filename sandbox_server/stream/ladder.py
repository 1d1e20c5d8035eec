"""How a film is shown where the link takes less than it needs: first in worse quality, then smaller, then with fewer pictures a second.

Sans-io; times are seconds of one clock. The encoder keeps to a rate by coarser quantisers; how coarse they are says when to step down.
"""

import math
from dataclasses import dataclass

WORST = 36.0
"""The coarsest of x264's quantisers (to 51), on average: beyond, blocks are seen, and half the size is
more like the film at the same rate."""
FINER_FOR_SIZE, FINER_FOR_PICTURES = 9.0, 5.0
"""So much finer than WORST it has to be to step up: about what twice the size takes, and twice the pictures."""
LEARNED_PICTURES = 12
"""The average is of about so many pictures, and so many at least come before the next step."""
UP_SECONDS = 2.0
"""It has to be fine enough for so long to step up;"""
MOST_UP_SECONDS = 64.0
"""for twice as long each time that the step was one too many, up to this;"""
REGRET_SECONDS = 10.0
"""which it was if it is taken back so soon."""


@dataclass(frozen=True, slots=True)
class Step:
    """One way to show a film."""

    scale: int = 1
    """It has so many times fewer pixels a side."""
    seconds: float = 0.0
    """Between two pictures, at least."""


STEPS = (Step(), Step(2), Step(2, 1 / 15), Step(2, 1 / 7.5))


class Ladder:
    """Where one film is on the ladder."""

    def __init__(self) -> None:
        self._at = 0
        self._average = 0.0
        self._pictures = 0
        self._fine_since = math.inf
        self._up_after = UP_SECONDS
        self._went_up = -math.inf

    @property
    def step(self) -> Step:
        """How to show the film now."""
        return STEPS[self._at]

    def learn(self, quantiser: float, now: float) -> None:
        """Learn how coarsely the latest picture was made."""
        self._pictures += 1
        self._average += (quantiser - self._average) / min(self._pictures, LEARNED_PICTURES)
        if self._pictures < LEARNED_PICTURES:
            return
        if self._average > WORST and self._at + 1 < len(STEPS):
            self._down(now)
        elif self._at and self._average < WORST - self._finer:
            self._fine_since = min(self._fine_since, now)
            if now - self._fine_since >= self._up_after:
                self._go(self._at - 1)
                self._went_up = now
        else:
            self._fine_since = math.inf

    @property
    def _finer(self) -> float:
        return FINER_FOR_SIZE if STEPS[self._at - 1].scale < self.step.scale else FINER_FOR_PICTURES

    def _down(self, now: float) -> None:
        soon = now - self._went_up < REGRET_SECONDS
        self._up_after = min(self._up_after * 2, MOST_UP_SECONDS) if soon else UP_SECONDS
        self._go(self._at + 1)

    def _go(self, to: int) -> None:
        self._at, self._pictures, self._average, self._fine_since = to, 0, 0.0, math.inf
