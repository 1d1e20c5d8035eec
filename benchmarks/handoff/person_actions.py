"""What a person does about each request: by what is seen of the computer's screen, with the pointer and the keys."""

import time

from PIL import Image

from benchmarks.handoff import drawings
from benchmarks.handoff.person import Colour, Person, Spot
from benchmarks.handoff.visits import Login, totp

RED = (220, 30, 40)
ORANGE = (255, 110, 0)
GREEN = (0, 150, 60)
PURPLE = (160, 0, 160)
FOCUS_YELLOW = (255, 230, 80)
DARK = 110
EDGE = 8
TRIANGLE = (0.35, 0.65)
"""The part of its bounding box that a triangle fills; a circle fills 0.79, a square all of it."""
TRIES = 8
NEAR = 1.5
TOLD_SECONDS = 10.0
"""A press that shows nothing for so long did nothing."""


def close_ad(person: Person) -> None:
    """Follow the button until it holds still, and press it; again, and more slowly, where it had not moved away yet."""
    for _ in range(TRIES):
        spot = person.find(RED)
        person.move(*spot.centre)
        if not person.find(RED).is_at(spot):
            continue
        person.click(*spot.centre)
        person.sees(lambda spot=spot: is_gone(person, spot), TOLD_SECONDS)  # type: ignore[misc] # one for each
        if person.glimpse(RED) is None:
            return
        person.haste /= 2
    raise AssertionError("the ad stays")


def is_gone(person: Person, spot: Spot) -> bool:
    """Whether the button is there no more, or elsewhere. A part of it is one that is being painted over: look again."""
    now = person.glimpse(RED)
    return now is None or (now.is_as_large_as(spot) and not now.is_at(spot))


def solve_puzzle(person: Person) -> None:
    """Slide the piece to where it is seen to fit, more slowly each time, then press every triangle."""
    for number in range(TRIES):
        person.haste = 1 / (1 + number)
        if slide(person):
            break
    pick(person)


def slide(person: Person) -> bool:
    """Drag the handle; look, and correct, before letting go. Whether the page goes on then; else the piece is back where it was."""
    start = person.find(drawings.PIECE_COLOUR)
    x, y = person.find(ORANGE).centre
    with person.dragging(x, y):
        gap = person.find(drawings.GAP_COLOUR)  # after a try, the picture is another one
        for _ in range(TRIES):
            off = gap.left - person.find(drawings.PIECE_COLOUR).left
            if abs(off) <= NEAR:
                break
            x += off
            person.move(x, y)
    back: list[bool] = []

    def is_told() -> bool:
        piece = person.glimpse(drawings.PIECE_COLOUR)
        back.append(piece is not None and abs(piece.left - start.left) <= NEAR)
        return back[-1] or person.glimpse(GREEN) is not None

    person.until(is_told, "the page says nothing")
    return not back[-1]


def pick(person: Person) -> None:
    """Choose the tiles whose shape fills half of its box, see each fade, and have them checked."""
    person.until(lambda: is_loaded(person), "the tiles are not seen")
    wanted = [index for index, (_, _, tile) in enumerate(tiles(person)) if TRIANGLE[0] < filled(tile) < TRIANGLE[1]]
    for index in wanted:
        x, y, _ = tiles(person)[index]
        person.click(x, y)
        person.until(lambda chosen=index: not filled(tiles(person)[chosen][2]), "the tile is not chosen")  # type: ignore[misc]
    person.click(*person.find(drawings.GAP_COLOUR).centre)
    person.until(lambda: person.glimpse(GREEN) is None, "the choice is not accepted")


def is_loaded(person: Person) -> bool:
    """Whether each of the nine tiles is seen: without them the grid is flat."""
    grid = person.find(GREEN)
    is_square = abs((grid.right - grid.left) - (grid.bottom - grid.top)) <= EDGE
    return is_square and all(filled(tile) for _, _, tile in tiles(person))


def tiles(person: Person) -> list[tuple[float, float, Image.Image]]:
    """The centre and the picture of each of the nine tiles, as they are seen now."""
    grid = person.find(GREEN)
    seen, left, top = person.look()
    width = (grid.right - grid.left - 2 * EDGE) / 3
    corners = [(grid.left + EDGE + index % 3 * width, grid.top + EDGE + index // 3 * width) for index in range(9)]
    return [
        (x + width / 2, y + width / 2, seen.crop((int(x - left), int(y - top), int(x - left + width), int(y - top + width))))
        for x, y in corners
    ]


def filled(tile: Image.Image) -> float:
    """The part of the bounding box of what is dark that is dark."""
    mask = tile.convert("L").point([255 * (value < DARK) for value in range(256)])
    edges = mask.getbbox()
    if edges is None:
        return 0.0
    return mask.histogram()[255] / ((edges[2] - edges[0]) * (edges[3] - edges[1]))


def sign_in(person: Person, visit: Login) -> None:
    """Type name, password and code."""
    enter(person, ORANGE, visit.USER)
    enter(person, GREEN, visit.password)
    person.key("Enter")
    focus(person, PURPLE)
    person.type(totp(visit.seed, time.time()))
    person.key("Enter")
    person.until(lambda: person.glimpse(PURPLE) is None, "the code is not accepted")


def enter(person: Person, colour: Colour, text: str) -> None:
    """Type into a field."""
    focus(person, colour)
    person.type(text)


def focus(person: Person, colour: Colour) -> None:
    """Click a field, and see that it has the focus.

    The page takes a click in its own time; a key that is pressed at once may be there before it.
    """
    field = person.find(colour)
    person.click(*field.centre)

    def has_focus() -> bool:
        lit = person.glimpse(FOCUS_YELLOW)
        return lit is not None and field.holds(*lit.centre)

    person.until(has_focus, f"the field of colour {colour} does not get the focus")
