"""What a person does about each request: by what is seen of the computer's screen, with the pointer and the keys."""

import time

from PIL import Image

from benchmarks.handoff import drawings
from benchmarks.handoff.person import Colour, Person
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
TRIES = 6
NEAR = 1.5


def close_ad(person: Person) -> None:
    """Follow the button until it holds still, and press it."""
    person.find(RED)
    for _ in range(TRIES):
        spot = person.find(RED)
        person.move(*spot.centre)
        after = person.find(RED)
        if after.is_at(spot):
            person.click(*spot.centre)
            person.until(lambda: person.glimpse(RED) is None, "the ad stays")
            return
    raise AssertionError("the button never holds still")


def solve_puzzle(person: Person) -> None:
    """Slide the piece to where it is seen to fit, more slowly each time, then press every triangle."""
    for number in range(TRIES):
        person.haste = 1 / (1 + number)
        if slide(person):
            break
    pick(person)


def slide(person: Person) -> bool:
    """Drag the handle; look, and correct, before letting go. Whether the page goes on then; else the piece is back where it was."""
    gap, start = person.find(drawings.GAP_COLOUR), person.find(drawings.PIECE_COLOUR)
    x, y = person.find(ORANGE).centre
    with person.dragging(x, y):
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
    """Choose the tiles whose shape fills half of its box, and have them checked."""
    grid = person.find(GREEN)
    seen, left, top = person.look()
    width = (grid.right - grid.left - 2 * EDGE) / 3
    for index in range(9):
        x, y = grid.left + EDGE + index % 3 * width, grid.top + EDGE + index // 3 * width
        tile = seen.crop((int(x - left), int(y - top), int(x - left + width), int(y - top + width)))
        if TRIANGLE[0] < filled(tile) < TRIANGLE[1]:
            person.click(x + width / 2, y + width / 2)
    person.click(*person.find(drawings.GAP_COLOUR).centre)
    person.until(lambda: person.glimpse(GREEN) is None, "the choice is not accepted")


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
    enter(person, PURPLE, totp(visit.seed, time.time()))
    person.key("Enter")
    person.until(lambda: person.glimpse(PURPLE) is None, "the code is not accepted")


def enter(person: Person, colour: Colour, text: str) -> None:
    """Click a field, see that it has the focus, and type.

    The window manager gets a click first and passes it on in its own time; a key that is pressed at once would be there before it.
    """
    field = person.find(colour)
    person.click(*field.centre)

    def has_focus() -> bool:
        lit = person.glimpse(FOCUS_YELLOW)
        return lit is not None and field.holds(*lit.centre)

    person.until(has_focus, f"the field of colour {colour} does not get the focus")
    person.type(text)
