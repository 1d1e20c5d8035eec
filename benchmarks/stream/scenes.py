"""What is shown while it is measured: the same pictures wherever they are made, so that what arrives can be compared with what was sent."""

import random
from functools import cache

from PIL import Image, ImageDraw

SCREEN = (1280, 1024)
MARK = ((255, 0, 255), (0, 255, 0), (255, 0, 255), (0, 0, 255))
"""Four cells in the top left corner, by which a viewer's picture of the screen is found on its own screen."""
CELL = 16
CODE_BITS = 16
CODE_AT = (4 * CELL, 0)
"""Where the number of the picture is, in Gray code, black and white."""
TARGET = (200, 200, 240, 240)
"""What changes its colour when it is clicked."""
VIDEO = (200, 200, 640, 480)
VIDEO_FRAMES = 45
VIDEO_RATE = 30
PAGE = (160, 64, 900, 896)
PAGE_HEIGHT = 6000
SCROLL_RATE = 20
SCROLL_STEP = 40
BESIDE_PAGE, BESIDE_VIDEO = (16, 64, 576, 896), (608, 192, 640, 480)
"""A page that scrolls beside a video that plays."""
TYPE_RATE = 8
SLIDE_RATE = 0.5


@cache
def _photograph() -> Image.Image:
    chance = random.Random(1)
    image = Image.frombytes("RGB", (24, 18), chance.randbytes(24 * 18 * 3)).resize((1440, 1080), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(160):
        x, y, size = chance.randrange(1440), chance.randrange(1080), chance.randrange(8, 60)
        draw.ellipse((x, y, x + size, y + size), fill=tuple(chance.randrange(256) for _ in range(3)))
    grain = Image.frombytes("RGB", (720, 540), chance.randbytes(720 * 540 * 3)).resize((1440, 1080), Image.Resampling.BILINEAR)
    return Image.blend(image, grain, 0.06)


@cache
def video(number: int) -> Image.Image:
    """A picture of a video: a photograph that turns and comes nearer."""
    turn = number % VIDEO_FRAMES
    near = min(turn, VIDEO_FRAMES - turn)
    turned = (
        _photograph().rotate(near * 0.8, Image.Resampling.BILINEAR).crop((300 + near * 4, 240 + near * 3, 1140 - near * 4, 870 - near * 3))
    )
    return turned.resize(VIDEO[2:], Image.Resampling.BILINEAR)


@cache
def page() -> Image.Image:
    """A long page of text with headings, boxes and some small pictures."""
    chance = random.Random(2)
    image = Image.new("RGB", (PAGE[2], PAGE_HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    for line in range(PAGE_HEIGHT // 20):
        words = " ".join("".join(chance.choices("etaoinshrdlucmfw", k=chance.randint(2, 9))) for _ in range(20))
        draw.text((20, line * 20), words, fill=(20, 20, 20) if line % 9 else (10, 60, 180))
        if line % 37 == 0:
            draw.rectangle((600, line * 20, 860, line * 20 + 90), fill=(230, 236, 245), outline=(120, 130, 150))
            image.paste(_photograph().resize((200, 150)).crop((0, 0, 120, 80)), (610, line * 20 + 5))
    return image


def top(number: int) -> int:
    """The page's first row in sight once it has scrolled so many steps."""
    return number * SCROLL_STEP % (PAGE_HEIGHT - PAGE[3])


def scrolled(number: int, width: int = PAGE[2]) -> Image.Image:
    """What is in sight of the page once it has scrolled so many steps."""
    return page().crop((0, top(number), width, top(number) + PAGE[3]))


@cache
def slide(number: int) -> Image.Image:
    """A slide: a heading, points, and a picture beside them."""
    chance = random.Random(number)
    image = Image.new("RGB", PAGE[2:], tuple(chance.randrange(200, 256) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for line in range(9):
        draw.text((40, 60 + line * 60), "  ".join("".join(chance.choices("etaoinshrd", k=7)) for _ in range(5)), fill="black", font_size=24)
    image.paste(_photograph().rotate(number * 7).resize((360, 270)), (500, 560))
    return image
