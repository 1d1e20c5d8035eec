"""What native code does to pixels: what is sent is put together again as it was, and no more is sent than differs."""

import ctypes
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw

from sandbox_server.stream.pixels import KEPT, MAX_OVER, TILE, Area, Canvas, Frame, Rects, Shadow, Stood, around, cut, halve, rects_of
from tests.stream.screens import framed, page, photograph, with_photograph

SIZE = (400, 300)
WHOLE = (0, 0, *SIZE)


def together(rects: Rects, more: Rects) -> Rects:
    return Rects(rects.memory, 0, len(rects) + len(more))


def sent(shadow: Shadow, canvas: Canvas, frame: Frame, area: Area = WHOLE) -> int:
    """Bring the canvas up to date as a viewer is; how many bytes that takes before they are compressed."""
    moves = shadow.moves(frame, area)
    assert canvas.move(moves)
    keep, put = shadow.kept(frame, area) if not moves else (b"", b"")
    assert canvas.keep(keep)
    assert canvas.put(put)
    changes = shadow.changes(frame, area)
    rects = together(changes.exact, changes.pictures)
    pieces = list(shadow.pack(frame, rects))
    shadow.take(frame, rects)
    assert all(canvas.unpack(piece) for piece in pieces)
    return len(keep) + len(put) + sum(map(len, pieces))


def shown(canvas: Canvas) -> Image.Image:
    return Image.frombytes("RGB", (canvas.width, canvas.height), bytes(canvas.pixels), "raw", "BGRX", 0, 1)


@pytest.mark.parametrize("image", [page(SIZE), photograph(SIZE), with_photograph(SIZE, (50, 60, 111, 97)), Image.new("RGB", SIZE, "teal")])
def test_what_is_sent_exactly_arrives_bit_for_bit(image: Image.Image) -> None:
    canvas = Canvas(*SIZE)
    sent(Shadow(*SIZE), canvas, framed(image))
    assert shown(canvas).tobytes() == image.tobytes()


def test_what_lies_outside_of_the_picture_is_not_looked_at() -> None:
    size = (64, 48)
    shadow, canvas = Shadow(*size), Canvas(*size)
    for image in (page(size), page(size, scrolled=7)):
        sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()


def test_nothing_is_sent_twice() -> None:
    shadow, frame = Shadow(*SIZE), framed(page(SIZE))
    sent(shadow, Canvas(*SIZE), frame)
    assert sent(shadow, Canvas(*SIZE), frame) == 0


def test_one_typed_character_is_one_small_rect() -> None:
    shadow, canvas, image = Shadow(*SIZE), Canvas(*SIZE), page(SIZE)
    sent(shadow, canvas, framed(image))
    ImageDraw.Draw(image).text((205, 133), "x", fill="red")
    changes = shadow.changes(framed(image), WHOLE)
    [rect] = changes.exact
    assert rect.width <= 10
    assert rect.height <= 12


@pytest.mark.parametrize("by", [3, 48, -48, 107])
def test_a_page_that_scrolls_is_moved_and_only_what_is_new_is_sent(by: int) -> None:
    shadow, canvas = Shadow(*SIZE), Canvas(*SIZE)
    whole = sent(shadow, canvas, framed(page(SIZE, scrolled=200)))
    image = page(SIZE, scrolled=200 + by)
    residual = sent(shadow, canvas, framed(image))
    assert shown(canvas).tobytes() == image.tobytes()
    assert residual < whole * (abs(by) + 32) / SIZE[1]


@pytest.mark.parametrize(("dx", "dy"), [(40, 0), (-7, 0), (25, -13), (-60, 44), (3, 90)])
def test_a_page_that_is_panned_is_moved_and_only_what_is_new_is_sent(dx: int, dy: int) -> None:
    shadow, canvas, world = Shadow(*SIZE), Canvas(*SIZE), page((900, 700))
    whole = sent(shadow, canvas, framed(world.crop((200, 200, 600, 500))))
    image = world.crop((200 - dx, 200 - dy, 600 - dx, 500 - dy))
    residual = sent(shadow, canvas, framed(image))
    assert shown(canvas).tobytes() == image.tobytes()
    assert residual < whole * ((abs(dx) + 48) / SIZE[0] + (abs(dy) + 48) / SIZE[1])


@pytest.mark.parametrize(("dx", "dy"), [(30, 0), (-50, 0), (17, 21), (-40, -9)])
def test_a_window_that_is_dragged_is_moved(dx: int, dy: int) -> None:
    shadow, canvas, window = Shadow(*SIZE), Canvas(*SIZE), page((200, 150), seed=8)
    window.paste(photograph((64, 64)), (30, 40))
    for at in ((90, 70), (90 + dx, 70 + dy)):
        image = Image.new("RGB", SIZE, "teal")
        image.paste(window, at)
        residual = sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()
    assert residual < 6000


def test_what_did_not_move_is_not_moved() -> None:
    shadow = Shadow(*SIZE)
    sent(shadow, Canvas(*SIZE), framed(page(SIZE)))
    assert shadow.moves(framed(page(SIZE, seed=2)), WHOLE) == b""


def test_what_comes_back_is_put_from_what_the_viewer_keeps() -> None:
    size = (384, 288)
    shadow, canvas, images = Shadow(*size), Canvas(*size), [page(size), photograph(size, 3), page(size, seed=2)]
    for image in images:
        sent(shadow, canvas, framed(image))
    for image in images * 2:
        assert sent(shadow, canvas, framed(image)) < 12_000
        assert shown(canvas).tobytes() == image.tobytes()


def test_what_is_kept_in_vain_makes_room() -> None:
    size = (256, 256)
    shadow, canvas = Shadow(*size), Canvas(*size)
    for number in range(KEPT // 64 + 20):
        image = photograph(size, number)
        sent(shadow, canvas, framed(image))
        assert shown(canvas).tobytes() == image.tobytes()
    assert sent(shadow, canvas, framed(photograph(size, number - 2))) < 1000
    assert sent(shadow, canvas, framed(photograph(size, 0))) > 100_000


def test_what_a_viewer_may_have_lost_is_not_put() -> None:
    shadow, canvas = Shadow(*SIZE), Canvas(*SIZE)
    for seed in (1, 2):
        sent(shadow, canvas, framed(page(SIZE, seed=seed)))
    shadow.forget_kept()
    assert not shadow.kept(framed(page(SIZE)), WHOLE)[1]


def test_a_letter_that_is_typed_is_not_worth_keeping_what_was_there() -> None:
    shadow, image = Shadow(*SIZE), page(SIZE)
    sent(shadow, Canvas(*SIZE), framed(image))
    ImageDraw.Draw(image).text((205, 133), "x", fill="red")
    assert shadow.kept(framed(image), WHOLE) == (b"", b"")


def test_a_photograph_is_told_from_text() -> None:
    changes = Shadow(*SIZE).changes(framed(with_photograph(SIZE, (64, 64, 160, 128))), WHOLE)
    assert changes.pictures.pixels == 160 * 128
    assert changes.exact.pixels >= SIZE[0] * SIZE[1] - 160 * 128


def test_what_a_viewer_has_something_like_is_only_sent_again_when_it_is_to_be_exact() -> None:
    shadow, frame = Shadow(*SIZE), framed(photograph(SIZE))
    shadow.take(frame, rects_of([WHOLE]), lossy=True)
    assert not shadow.changes(frame, WHOLE).pictures
    assert shadow.changes(frame, WHOLE, lossless=True).pictures.pixels == SIZE[0] * SIZE[1]


def test_what_is_forgotten_is_sent_again() -> None:
    shadow, frame = Shadow(*SIZE), framed(page(SIZE))
    sent(shadow, Canvas(*SIZE), frame)
    shadow.forget((64, 64, 64, 32))
    changes = shadow.changes(frame, WHOLE)
    assert together(changes.exact, changes.pictures).pixels == 64 * 32


def test_a_picture_at_half_its_size_has_the_mean_of_each_four() -> None:
    image, out = photograph((46, 31)), (ctypes.c_uint32 * (20 * 14))()
    half = halve(framed(image), (3, 2, 41, 28), out)
    found = Image.frombytes("RGB", (half.width, half.height), bytes(out), "raw", "BGRX", 0, 1)
    wanted = image.crop((3, 2, 43, 30)).resize((20, 14), Image.Resampling.BOX)
    assert max(ImageChops.difference(found, wanted).tobytes()) <= 1


def test_a_cut_has_the_pixels_of_its_rect() -> None:
    image = photograph(SIZE)
    [rect] = rects_of([(13, 17, 41, 23)])
    found = Image.frombytes("RGB", (41, 23), bytes(cut(framed(image), rect)), "raw", "BGRX", 0, 1)
    assert found.tobytes() == image.crop((13, 17, 54, 40)).tobytes()


FILM = (64, 32, 256, 192)


def looked(stood: Stood, pictures: int, *, menu: tuple[Image.Image, tuple[int, int]] | None = None, first: int = 0) -> list[bool]:
    """Look at so many pictures of a film, with a menu over it; whether the film moved in each."""
    moved = []
    for number in range(first, first + pictures):
        image = Image.new("RGB", SIZE)
        image.paste(photograph(FILM[2:], number), FILM[:2])
        if menu:
            image.paste(*menu)
        moved.append(stood.look(framed(image), 1 << 20))
    return moved


def test_a_menu_over_a_film_is_found_to_the_pixel_and_is_gone_when_it_closes() -> None:
    stood, menu = Stood(FILM), page((123, 77))
    assert all(looked(stood, 6))
    assert stood.over == []
    assert all(looked(stood, 8, menu=(menu, (101, 83)), first=6))
    left, top, width, height = around(stood.over)
    assert (left, top, width, height) == (101, 83, 123, 77)
    assert sum(area[2] * area[3] for area in stood.over) >= width * height
    assert all(looked(stood, 1, first=14))
    assert stood.over == []


def test_a_line_of_a_menu_that_changes_leaves_it_over_the_film() -> None:
    stood, menu = Stood(FILM), page((160, 96))
    looked(stood, 20, menu=(menu, (96, 64)))
    before = stood.over
    assert around(before) == (96, 64, 160, 96)
    ImageDraw.Draw(menu).rectangle((0, 32, 159, 47), fill="navy")
    looked(stood, 1, menu=(menu, (96, 64)), first=20)
    assert stood.over == before


def test_where_only_what_lies_over_a_film_changes_the_film_shows_no_other_picture() -> None:
    stood, image = Stood(FILM), Image.new("RGB", SIZE)
    looked(stood, 20, menu=(page((160, 96)), (96, 64)))
    image.paste(photograph(FILM[2:], 19), FILM[:2])
    image.paste(page((160, 96)), (96, 64))
    assert not stood.look(framed(image), 0)
    ImageDraw.Draw(image).rectangle((100, 70, 140, 80), fill="navy")
    assert not stood.look(framed(image), 0)
    assert stood.over


def test_a_part_of_a_film_that_stands_still_now_and_then_is_soon_taken_for_the_film() -> None:
    stood, opened = Stood(FILM), 0
    flat = Image.new("RGB", (64, 64), "black")
    for number in range(0, 240, 6):
        looked(stood, 5, menu=(flat, (128, 96)), first=number)
        opened += bool(stood.over)
        looked(stood, 1, first=number + 5)
    assert 0 < opened < 6


def test_no_more_lies_over_a_film_at_once_than_may_be_sent() -> None:
    stood, image = Stood(FILM), page(SIZE)
    for number in range(12):
        image.putpixel((FILM[0], FILM[1]), (number, 0, 0))
        before = sum(width * height for _, _, width, height in stood.over)
        stood.look(framed(image), 4096)
        assert sum(width * height for _, _, width, height in stood.over) <= before + 4096 + MAX_OVER * 8 * 8 * 4


@settings(deadline=None, database=None, max_examples=60)
@given(st.binary(max_size=400))
def test_bytes_that_are_no_rects_are_refused_and_write_nowhere_else(rubbish: bytes) -> None:
    canvas = Canvas(64, 48)
    canvas.unpack(rubbish)
    assert len(canvas.pixels) == 64 * 48 * 4


@settings(deadline=None, database=None, max_examples=60)
@given(st.data())
def test_rects_that_were_damaged_on_the_way_do_no_harm(data: st.DataObject) -> None:
    size = (96, 64)
    shadow, frame = Shadow(*size), framed(with_photograph(size, (32, 32, 32, 32)))
    changes = shadow.changes(frame, (0, 0, *size))
    [packed] = shadow.pack(frame, together(changes.exact, changes.pictures))
    damaged = bytearray(packed)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    Canvas(*size).unpack(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.integers(0, 65535), min_size=3, max_size=3))
def test_a_tile_is_kept_and_put_only_within_the_picture(numbers: list[int]) -> None:
    canvas = Canvas(80, 60)
    tile = b"".join(number.to_bytes(2, "little") for number in numbers)
    slot, x, y = numbers
    inside = slot < KEPT and x + TILE <= 80 and y + TILE <= 60
    assert not canvas.put(tile)
    assert canvas.keep(tile) == inside
    assert canvas.put(tile) == inside


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.integers(0, 65535), min_size=6, max_size=6))
def test_a_move_is_made_only_within_the_picture(numbers: list[int]) -> None:
    canvas = Canvas(80, 60)
    from_x, from_y, x, y, width, height = numbers
    inside = all((width, height)) and max(from_x, x) + width <= 80 and max(from_y, y) + height <= 60
    assert canvas.move(b"".join(number.to_bytes(2, "little") for number in numbers)) == inside


@settings(deadline=None, database=None, max_examples=15)
@given(st.integers(0, 2**32))
def test_any_change_of_any_screen_arrives(seed: int) -> None:
    chance = random.Random(seed)
    size = (chance.randint(1, 200), chance.randint(1, 200))
    shadow, canvas, image = Shadow(*size), Canvas(*size), page(size, seed=seed)
    for step in range(4):
        change = page(size, scrolled=chance.randint(0, 60), seed=seed) if step % 2 else photograph(size, seed % 1000)
        if chance.random() < 0.5:
            change = ImageChops.offset(image, chance.randint(-40, 40), chance.randint(-40, 40))
        at = chance.randint(0, size[0] - 1), chance.randint(0, size[1] - 1)
        image.paste(change.crop((*at, *size)), at)
        sent(shadow, canvas, framed(image), (0, 0, *size))
        assert shown(canvas).tobytes() == image.tobytes()
