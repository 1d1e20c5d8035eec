"""What a person does about each request: by what is seen of the computer's screen, with the pointer and the keys."""

import time

import numpy as np

from benchmarks.handoff import drawings
from benchmarks.handoff.person import Person
from benchmarks.handoff.visits import Login, totp

CLOSE_RED = (220, 30, 40)
HANDLE_ORANGE = (255, 110, 0)
GRID_GREEN = (0, 150, 60)
BLUE = (0, 90, 200)
PURPLE = (160, 0, 160)
DARK = 110
EDGE = 8
TRIANGLE = (0.35, 0.65)
"""The part of its bounding box that a triangle fills; a circle fills 0.79, a square all of it."""
TRIES = 6
NEAR = 1.5


def close_ad(person: Person) -> None:
    """Follow the button until it holds still, and press it."""
    person.find(CLOSE_RED)
    for _ in range(TRIES):
        spot = person.find(CLOSE_RED)
        person.move(*spot.centre)
        after = person.find(CLOSE_RED)
        if after.is_at(spot):
            person.click(*spot.centre)
            person.until(lambda: person.glimpse(CLOSE_RED) is None, "the ad stays")
            return
    raise AssertionError("the button never holds still")


def solve_puzzle(person: Person) -> None:
    """Slide the piece to where it is seen to fit, then press every triangle."""
    for _ in range(TRIES):
        slide(person)
        person.until(lambda: person.glimpse(GRID_GREEN) or person.glimpse(HANDLE_ORANGE), "the page is gone")
        if person.glimpse(GRID_GREEN):
            break
    pick(person)


def slide(person: Person) -> None:
    """Drag the handle; look, and correct, before letting go."""
    x, y = person.find(HANDLE_ORANGE).centre
    with person.dragging(x, y):
        for _ in range(TRIES):
            gap, piece = person.find(drawings.GAP_COLOUR), person.find(drawings.PIECE_COLOUR)
            off = gap.right - piece.right  # the piece, above the gap, hides its left edge first
            if abs(off) <= NEAR:
                break
            x += off
            person.move(x, y)


def pick(person: Person) -> None:
    """Choose the tiles whose shape fills half of its box, and have them checked."""
    grid = person.find(GRID_GREEN)
    seen, left, top = person.look()
    width = (grid.right - grid.left - 2 * EDGE) / 3
    for index in range(9):
        x, y = grid.left + EDGE + index % 3 * width, grid.top + EDGE + index // 3 * width
        tile = seen[int(y - top) : int(y - top + width), int(x - left) : int(x - left + width)]
        if TRIANGLE[0] < filled(tile) < TRIANGLE[1]:
            person.click(x + width / 2, y + width / 2)
    person.click(*person.find(BLUE).centre)
    person.until(lambda: person.glimpse(GRID_GREEN) is None, "the choice is not accepted")


def filled(tile: np.ndarray) -> float:
    """The part of the bounding box of what is dark that is dark."""
    rows, columns = np.nonzero(tile.max(axis=2) < DARK)
    if not len(rows):
        return 0.0
    return float(len(rows) / ((np.ptp(rows) + 1) * (np.ptp(columns) + 1)))


def sign_in(person: Person, visit: Login) -> None:
    """Type name, password and code."""
    person.click(*person.find(BLUE).centre)
    person.type(visit.USER)
    person.click(*person.find(GRID_GREEN).centre)
    person.type(visit.password)
    person.key("Enter")
    person.click(*person.find(PURPLE).centre)
    person.type(totp(visit.seed, time.time()))
    person.key("Enter")
    person.until(lambda: person.glimpse(PURPLE) is None, "the code is not accepted")
