"""Rectangles on the screen, as tuples of integers."""

type Area = tuple[int, int, int, int]
"""x, y, width and height in pixels."""


def bounding_box(areas: list[Area]) -> Area:
    """The smallest area that contains all of them."""
    left, top = min(x for x, _, _, _ in areas), min(y for _, y, _, _ in areas)
    right, bottom = max(x + width for x, _, width, _ in areas), max(y + height for _, y, _, height in areas)
    return left, top, right - left, bottom - top


def intersects(one: Area, other: Area) -> bool:
    """Whether two areas have a pixel in common."""
    return all(one[axis] < other[axis] + other[axis + 2] and other[axis] < one[axis] + one[axis + 2] for axis in (0, 1))


def contains(outer: Area, inner: Area) -> bool:
    """Whether all of `inner` lies within `outer`."""
    return bounding_box([outer, inner]) == outer


def clip(area: Area, width: int, height: int) -> Area | None:
    """The part of an area that lies on a screen of `width` x `height`; None if there is none."""
    left, top = max(0, area[0]), max(0, area[1])
    right, bottom = min(width, area[0] + area[2]), min(height, area[1] + area[3])
    return (left, top, right - left, bottom - top) if left < right and top < bottom else None


def align_to_grid(area: Area, cell: int, width: int, height: int) -> Area:
    """The area with all grid cells that it touches, within a screen of `width` x `height`."""
    left, top = area[0] // cell * cell, area[1] // cell * cell
    right, bottom = -(-(area[0] + area[2]) // cell) * cell, -(-(area[1] + area[3]) // cell) * cell
    return left, top, min(right, width) - left, min(bottom, height) - top


def split_rows(area: Area, pixels: int) -> tuple[Area, Area | None]:
    """The upper rows of an area with about `pixels` pixels, and the rest of it."""
    x, y, width, height = area
    rows = max(1, pixels // width)
    return (area, None) if rows >= height else ((x, y, width, rows), (x, y + rows, width, height - rows))
