"""Points of a model, which sees the screen in another size, and the limits of what its actions say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.dispatch import InvalidFields

type Size = tuple[int, int]
type Place = tuple[str | int, ...]
"""Where a value is in the request, for error messages."""


def refused(place: Place, why: str, kind: str) -> InvalidFields:
    """What says that a value makes no sense."""
    return InvalidFields([{"loc": place, "msg": why, "type": kind}])


def unknown(place: Place, action: str, known: Sequence[str]) -> InvalidFields:
    """What says that there is no such action."""
    return refused(place, f"there is no action {action[:100]!r}; there are {', '.join(known)}", "unknown_action")


def needed(place: Place, value: Any) -> Any:
    """A value that an action needs. Raises InvalidFields."""
    if value is None:
        raise refused(place, "this action needs it", "missing")
    return value


@dataclass(frozen=True, slots=True)
class ModelSpace:
    """Where the model's points are: on `size`, which is the whole of `screen`. Both are width and height."""

    size: tuple[float, float]
    screen: Size

    def point(self, x: float, y: float, place: Place) -> tuple[int, int]:
        """The pixel of the screen. Raises InvalidFields for a point outside, which is never moved onto the edge."""
        return self._along(0, x, place), self._along(1, y, place)

    def distance(self, value: float, axis: int) -> int:
        """So many pixels of the screen, to the right (`axis` 0) or down (1)."""
        return round(value * self.screen[axis] / self.size[axis])

    def _along(self, axis: int, value: float, place: Place) -> int:
        size = self.size[axis]
        if not 0 <= value <= size:  # a model names the edge, too
            raise refused(place, f"is {value:g}, outside of the picture of {self.size[0]:g}x{self.size[1]:g} pixels", "outside_screen")
        return min(self.screen[axis] - 1, int(value * self.screen[axis] / size))
