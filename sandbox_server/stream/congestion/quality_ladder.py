"""The quality ladder of a video on a slow link: coarser first, then at half the size, then at fewer pictures a second.

Sans-io; times are seconds of one clock. The encoder keeps to its bitrate by coarser quantisers. How coarse they are says when to
step down, and how much of the bitrate it uses says when to step up.
"""

import math
from dataclasses import dataclass

WORST = 32.0
"""The coarsest of x264's quantisers (to 51), on average. Structural similarity of the benchmark's video, whole and at half its size: 0.955
and 0.951 at 25, 0.82 and 0.95 at 49; with more grain 0.865 and 0.842 at 29, 0.822 and 0.840 at 33."""
TWICE_THE_SIZE, TWICE_THE_PICTURES = 2.0, 1.8
"""Factors by which a step up raises the bits, as measured there: 2.0 to 2.5, and 1.6 to 1.9. A step up needs room for them."""
LEARNED_PICTURES = 12
"""Averages are over about so many pictures, and at least as many come before the next step."""
UP_SECONDS = 2.0
"""How long there has to be room before a step up."""
MOST_UP_SECONDS = 64.0
"""Bound of that time, which doubles each time that a step up is taken back soon."""
REGRET_SECONDS = 10.0
"""A step up that is taken back within this time was one too many."""


@dataclass(frozen=True, slots=True)
class QualityStep:
    """One step of the ladder."""

    scale: int = 1
    """Divisor of the width and the height."""
    seconds: float = 0.0
    """Least time between two pictures."""


STEPS = (QualityStep(), QualityStep(2), QualityStep(2, 1 / 15), QualityStep(2, 1 / 7.5))


class QualityLadder:
    """The position of one video on the ladder."""

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
        """The step that the video is on."""
        return STEPS[self._at]

    def learn(self, quantiser: float, share: float, now: float) -> None:
        """Note the quantiser of the latest picture, and the share of the bitrate that it took."""
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
        """The factor by which the step above raises the bits."""
        return TWICE_THE_SIZE if STEPS[self._at - 1].scale < self.step.scale else TWICE_THE_PICTURES

    def _down(self, now: float) -> None:
        soon = now - self._went_up < REGRET_SECONDS
        self._up_after = min(self._up_after * 2, MOST_UP_SECONDS) if soon else UP_SECONDS
        self._go(self._at + 1)

    def _go(self, to: int) -> None:
        self._at, self._pictures, self._room_since = to, 0, math.inf
