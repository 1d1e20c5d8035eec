"""What to look at first where not everything can be sent at once: what is near the pointer, where a person looks."""

from collections.abc import Iterator, Sequence

from sandbox_server.stream.pixels import Area

BAND_ROWS = 128
"""Areas are cut into bands of so many rows: what is cut is joined less well."""


def nearest_first(areas: Sequence[Area], pointer: tuple[int, int]) -> list[Area]:
    """The areas in bands, those first that are nearest to the pointer."""
    return sorted((band for area in areas for band in _bands(area)), key=lambda band: _distance(band, pointer))


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
