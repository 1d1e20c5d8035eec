"""How a video is shown where the link takes less than it needs: first in worse quality, then smaller, then with fewer pictures a second.

Sans-io; times are seconds of one clock. The encoder keeps to a rate by coarser quantisers; how coarse they are says when to step
down, and how much of the rate it takes when to step up.
"""

import math
from dataclasses import dataclass

WORST = 32.0
"""The coarsest of x264's quantisers (to 51), on average. Structural similarity of the benchmark's video, whole and at half its size: 0.955
and 0.951 at 25, 0.82 and 0.95 at 49; with more grain 0.865 and 0.842 at 29, 0.822 and 0.840 at 33."""
TWICE_THE_SIZE, TWICE_THE_PICTURES = 2.0, 1.8
"""By about so much more bits that takes, as measured there: 2.0 to 2.5, and 1.6 to 1.9. There has to be room for them to step up."""
LEARNED_PICTURES = 12
"""The average is of about so many pictures, and so many at least come before the next step."""
UP_SECONDS = 2.0
"""There has to be room for so long to step up;"""
MOST_UP_SECONDS = 64.0
"""for twice as long each time that the step was one too many, up to this;"""
REGRET_SECONDS = 10.0
"""which it was if it is taken back so soon."""


@dataclass(frozen=True, slots=True)
class QualityStep:
    """One way to show a video."""

    scale: int = 1
    """It has so many times fewer pixels a side."""
    seconds: float = 0.0
    """Between two pictures, at least."""


STEPS = (QualityStep(), QualityStep(2), QualityStep(2, 1 / 15), QualityStep(2, 1 / 7.5))


class QualityLadder:
    """Where one video is on the ladder."""

    def __init__(self) -> None:
        self._at = 0
        self._quantiser = 0.0
        self._share = 0.0
        self._pictures = 0
        self._room_since = math.inf
        self._up_after = UP_SECONDS
        self._went_up = -math.inf

    @property
    def step(self) -> QualityStep:
        """How to show the video now."""
        return STEPS[self._at]

    def learn(self, quantiser: float, share: float, now: float) -> None:
        """Learn how coarsely the latest picture was made, and what share of the rate it took."""
        self._pictures += 1
        weight = 1 / min(self._pictures, LEARNED_PICTURES)
        self._quantiser += (quantiser - self._quantiser) * weight
        self._share += (share - self._share) * weight
        if self._pictures < LEARNED_PICTURES:
            return
        if self._quantiser > WORST and self._at + 1 < len(STEPS):
            self._down(now)
        elif self._at and self._share * self._more < 1:
            self._room_since = min(self._room_since, now)
            if now - self._room_since >= self._up_after:
                self._go(self._at - 1)
                self._went_up = now
        else:
            self._room_since = math.inf

    @property
    def _more(self) -> float:
        """How many times more bits the step above takes."""
        return TWICE_THE_SIZE if STEPS[self._at - 1].scale < self.step.scale else TWICE_THE_PICTURES

    def _down(self, now: float) -> None:
        soon = now - self._went_up < REGRET_SECONDS
        self._up_after = min(self._up_after * 2, MOST_UP_SECONDS) if soon else UP_SECONDS
        self._go(self._at + 1)

    def _go(self, to: int) -> None:
        self._at, self._pictures, self._room_since = to, 0, math.inf
