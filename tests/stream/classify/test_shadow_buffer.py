"""The shadow buffer: no more is sent than differs, and what moved or is cached is not sent again."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw

from sandbox_server.stream.classify.shadow_buffer import ShadowBuffer
from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.native.library import CACHED_TILES
from sandbox_server.stream.native.rect_array import rect_array
from tests.stream.canvases import sent, shown
from tests.stream.screens import framed, page, photograph, with_photograph

SIZE = (400, 300)
WHOLE = (0, 0, *SIZE)


def test_what_lies_outside_of_the_picture_is_not_looked_at() -> None:
    size = (64, 48)
    shadow, canvas = ShadowBuffer(*size), Canvas(*size)
    for image in (page(size), page(size, scrolled=7)):
        sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()


def test_nothing_is_sent_twice() -> None:
    shadow, frame = ShadowBuffer(*SIZE), framed(page(SIZE))
    sent(shadow, Canvas(*SIZE), frame)
    assert sent(shadow, Canvas(*SIZE), frame) == 0


def test_one_typed_character_is_one_small_rect() -> None:
    shadow, canvas, image = ShadowBuffer(*SIZE), Canvas(*SIZE), page(SIZE)
    sent(shadow, canvas, framed(image))
    ImageDraw.Draw(image).text((205, 133), "x", fill="red")
    changes = shadow.changes(framed(image), WHOLE)
    [rect] = changes.exact
    assert rect.width <= 10
    assert rect.height <= 12


@pytest.mark.parametrize("by", [3, 48, -48, 107])
def test_a_page_that_scrolls_is_moved_and_only_what_is_new_is_sent(by: int) -> None:
    shadow, canvas = ShadowBuffer(*SIZE), Canvas(*SIZE)
    whole = sent(shadow, canvas, framed(page(SIZE, scrolled=200)))
    image = page(SIZE, scrolled=200 + by)
    residual = sent(shadow, canvas, framed(image))
    assert shown(canvas).tobytes() == image.tobytes()
    assert residual < whole * (abs(by) + 32) / SIZE[1]


@pytest.mark.parametrize(("dx", "dy"), [(40, 0), (-7, 0), (25, -13), (-60, 44), (3, 90)])
def test_a_page_that_is_panned_is_moved_and_only_what_is_new_is_sent(dx: int, dy: int) -> None:
    shadow, canvas, world = ShadowBuffer(*SIZE), Canvas(*SIZE), page((900, 700))
    whole = sent(shadow, canvas, framed(world.crop((200, 200, 600, 500))))
    image = world.crop((200 - dx, 200 - dy, 600 - dx, 500 - dy))
    residual = sent(shadow, canvas, framed(image))
    assert shown(canvas).tobytes() == image.tobytes()
    assert residual < whole * ((abs(dx) + 48) / SIZE[0] + (abs(dy) + 48) / SIZE[1])


@pytest.mark.parametrize(("dx", "dy"), [(30, 0), (-50, 0), (17, 21), (-40, -9)])
def test_a_window_that_is_dragged_is_moved(dx: int, dy: int) -> None:
    shadow, canvas, window = ShadowBuffer(*SIZE), Canvas(*SIZE), page((200, 150), seed=8)
    window.paste(photograph((64, 64)), (30, 40))
    for at in ((90, 70), (90 + dx, 70 + dy)):
        image = Image.new("RGB", SIZE, "teal")
        image.paste(window, at)
        residual = sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()
    assert residual < 6000


def test_what_did_not_move_is_not_moved() -> None:
    shadow = ShadowBuffer(*SIZE)
    sent(shadow, Canvas(*SIZE), framed(page(SIZE)))
    assert shadow.moves(framed(page(SIZE, seed=2)), WHOLE) == b""


def test_what_comes_back_is_put_from_what_the_viewer_keeps() -> None:
    size = (384, 288)
    shadow, canvas, images = ShadowBuffer(*size), Canvas(*size), [page(size), photograph(size, 3), page(size, seed=2)]
    for image in images:
        sent(shadow, canvas, framed(image))
    for image in images * 2:
        assert sent(shadow, canvas, framed(image)) < 12_000
        assert shown(canvas).tobytes() == image.tobytes()


def test_what_is_kept_in_vain_makes_room() -> None:
    size = (256, 256)
    shadow, canvas = ShadowBuffer(*size), Canvas(*size)
    for number in range(CACHED_TILES // 64 + 20):
        image = photograph(size, number)
        sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()
    assert sent(shadow, canvas, framed(photograph(size, number - 2))) < 1000
    assert sent(shadow, canvas, framed(photograph(size, 0))) > 100_000


def test_what_a_viewer_may_have_lost_is_not_put() -> None:
    shadow, canvas = ShadowBuffer(*SIZE), Canvas(*SIZE)
    for seed in (1, 2):
        sent(shadow, canvas, framed(page(SIZE, seed=seed)))
    shadow.drop_tile_cache()
    assert not shadow.cached_tiles(framed(page(SIZE)), WHOLE)[1]


def test_a_letter_that_is_typed_is_not_worth_keeping_what_was_there() -> None:
    shadow, image = ShadowBuffer(*SIZE), page(SIZE)
    sent(shadow, Canvas(*SIZE), framed(image))
    ImageDraw.Draw(image).text((205, 133), "x", fill="red")
    assert shadow.cached_tiles(framed(image), WHOLE) == (b"", b"")


def test_a_photograph_is_told_from_text() -> None:
    changes = ShadowBuffer(*SIZE).changes(framed(with_photograph(SIZE, (64, 64, 160, 128))), WHOLE)
    assert changes.pictures.pixels == 160 * 128
    assert changes.exact.pixels >= SIZE[0] * SIZE[1] - 160 * 128


def test_what_a_viewer_has_something_like_is_only_sent_again_when_it_is_to_be_exact() -> None:
    shadow, frame = ShadowBuffer(*SIZE), framed(photograph(SIZE))
    shadow.mark_sent(frame, rect_array([WHOLE]), lossy=True)
    assert not shadow.changes(frame, WHOLE).pictures
    assert shadow.changes(frame, WHOLE, lossless=True).pictures.pixels == SIZE[0] * SIZE[1]


def test_what_is_forgotten_is_sent_again() -> None:
    shadow, frame = ShadowBuffer(*SIZE), framed(page(SIZE))
    sent(shadow, Canvas(*SIZE), frame)
    shadow.invalidate((64, 64, 64, 32))
    changes = shadow.changes(frame, WHOLE)
    assert changes.all.pixels == 64 * 32


@settings(deadline=None, database=None, max_examples=15)
@given(st.integers(0, 2**32))
def test_any_change_of_any_screen_arrives(seed: int) -> None:
    chance = random.Random(seed)
    size = (chance.randint(1, 200), chance.randint(1, 200))
    shadow, canvas, image = ShadowBuffer(*size), Canvas(*size), page(size, seed=seed)
    for step in range(4):
        change = page(size, scrolled=chance.randint(0, 60), seed=seed) if step % 2 else photograph(size, seed % 1000)
        if chance.random() < 0.5:
            change = ImageChops.offset(image, chance.randint(-40, 40), chance.randint(-40, 40))
        at = chance.randint(0, size[0] - 1), chance.randint(0, size[1] - 1)
        image.paste(change.crop((*at, *size)), at)
        sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()
