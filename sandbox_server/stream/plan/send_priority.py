"""Send priority: what is near the pointer goes first where not everything can be sent at once, since that is where a person looks."""

from collections.abc import Iterator, Mapping, Sequence

from sandbox_server.stream.geometry import Area, contains, intersects

BAND_ROWS = 128
"""Areas are split into bands of so many rows: fewer would join less well."""


def by_priority(areas: Sequence[Area], pointer: tuple[int, int], deferred: Mapping[Area, int] | None = None) -> list[Area]:
    """The areas in bands, those nearest to the pointer first.

    Each time that an area was `deferred` halves its distance, so what keeps changing near the pointer holds up nothing for long.
    """
    deferred = deferred or {}

    def rank(band: Area) -> int:
        times = max((times for area, times in deferred.items() if intersects(area, band)), default=0)
        return _distance(band, pointer) >> times

    return sorted((band for area in areas for band in _bands(area)), key=rank)


def outermost(areas: Sequence[Area]) -> list[Area]:
    """The areas that lie within no other, each once."""
    found: list[Area] = []
    for area in sorted(set(areas), key=lambda one: -one[2] * one[3]):
        if not any(contains(other, area) for other in found):
            found.append(area)
    return found


def _bands(area: Area) -> Iterator[Area]:
    x, y, width, height = area
    top = y
    while top < y + height:
        bottom = min(y + height, (top // BAND_ROWS + 1) * BAND_ROWS)
        yield x, top, width, bottom - top
        top = bottom


def _distance(area: Area, pointer: tuple[int, int]) -> int:
    """How many pixels the pointer is away from the area, in the direction in which that is more."""
    x, y, width, height = area
    return max(x - pointer[0], pointer[0] - (x + width - 1), y - pointer[1], pointer[1] - (y + height - 1), 0)
