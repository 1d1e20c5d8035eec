"""What to look at first where not everything can be sent at once: what is near the pointer, where a person looks."""

from collections.abc import Iterator, Mapping, Sequence

from sandbox_server.stream.pixels import Area, around, meet

BAND_ROWS = 128
"""Areas are cut into bands of so many rows: what is cut is joined less well."""


def nearest_first(areas: Sequence[Area], pointer: tuple[int, int], waited: Mapping[Area, int] | None = None) -> list[Area]:
    """The areas in bands, those first that are nearest to the pointer.

    What `waited` so many times before counts as half as far for each of them, so what keeps changing near the pointer holds up nothing for
    long.
    """
    waited = waited or {}

    def rank(band: Area) -> int:
        times = max((times for area, times in waited.items() if meet(area, band)), default=0)
        return _distance(band, pointer) >> times

    return sorted((band for area in areas for band in _bands(area)), key=rank)


def outermost(areas: Sequence[Area]) -> list[Area]:
    """The areas that lie within no other, each once."""
    found: list[Area] = []
    for area in sorted(set(areas), key=lambda one: -one[2] * one[3]):
        if not any(around([area, other]) == other for other in found):
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
    """How many pixels the pointer would have to move, at most in one direction, to be within the area."""
    x, y, width, height = area
    return max(x - pointer[0], pointer[0] - (x + width - 1), y - pointer[1], pointer[1] - (y + height - 1), 0)
