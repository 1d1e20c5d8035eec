"""The puzzle's pictures, drawn anew each time."""

import io
import random
from typing import Literal

from PIL import Image, ImageDraw, ImageFilter

type Shape = Literal["triangle", "circle", "square"]

SCENE = (640, 240)
PIECE = 60
EDGE = 8
GAP_COLOUR = (230, 0, 120)
PIECE_COLOUR = (0, 200, 220)
TILE = 130
TRIANGLES = (2, 3, 4)
"""How many of nine there may be."""


def scene(gap: tuple[int, int]) -> bytes:
    """A landscape of noise with a hole at `gap`, its upper left corner."""
    picture = Image.effect_noise(SCENE, 60).convert("RGB").filter(ImageFilter.GaussianBlur(4))
    draw = ImageDraw.Draw(picture)
    for _ in range(12):
        x, y, size = random.randrange(SCENE[0]), random.randrange(SCENE[1]), random.randrange(10, 60)
        draw.ellipse((x, y, x + size, y + size), fill=(random.randrange(90, 160),) * 3)
    _frame(draw, gap, GAP_COLOUR)
    return _png(picture)


def piece() -> bytes:
    """What belongs into the hole."""
    picture = Image.new("RGB", (PIECE, PIECE), (150, 150, 150))
    _frame(ImageDraw.Draw(picture), (0, 0), PIECE_COLOUR)
    return _png(picture)


def shapes() -> list[Shape]:
    """Nine of them, some triangles."""
    triangles: list[Shape] = ["triangle"] * random.choice(TRIANGLES)
    others: list[Shape] = random.choices(["circle", "square"], k=9 - len(triangles))
    return random.sample(triangles + others, 9)


def tile(shape: Shape) -> bytes:
    """One shape, of any size and dark colour."""
    picture = Image.new("RGB", (TILE, TILE), "white")
    draw = ImageDraw.Draw(picture)
    size = random.randrange(60, 90)
    x, y = (random.randrange(14, TILE - 14 - size) for _ in "xy")
    colour = (random.randrange(70), random.randrange(70), random.randrange(70))
    match shape:
        case "triangle":
            draw.polygon([(x + size // 2, y), (x, y + size), (x + size, y + size)], fill=colour)
        case "circle":
            draw.ellipse((x, y, x + size, y + size), fill=colour)
        case "square":
            draw.rectangle((x, y, x + size, y + size), fill=colour)
    return _png(picture)


def _frame(draw: ImageDraw.ImageDraw, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    x, y = at
    draw.rectangle((x, y, x + PIECE - 1, y + PIECE - 1), fill=(40, 40, 40), outline=colour, width=EDGE)


def _png(picture: Image.Image) -> bytes:
    written = io.BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()
