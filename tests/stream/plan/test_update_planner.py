"""The update planner: a viewer is sent all that it lacks, photographs lossy first, and exactly once they are still."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw, ImageStat

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.geometry import bounding_box
from sandbox_server.stream.plan.send_priority import BAND_ROWS
from sandbox_server.stream.plan.update_plan import UpdatePlan
from sandbox_server.stream.plan.update_planner import REFINE_SECONDS, UpdatePlanner
from tests.stream.screens import framed, page, photograph, with_photograph

SIZE = (400, 300)
WHOLE = (0, 0, *SIZE)


def apply(plan: UpdatePlan, canvas: Canvas) -> None:
    """Do with a plan what a viewer does with its messages; photographs are drawn as they are."""
    assert canvas.move(plan.moves)
    assert all(canvas.store_tiles(keep) and canvas.draw_tiles(put) for keep, put in plan.cached_tiles)
    assert all(canvas.unpack(piece) for piece in plan.exact)
    for area, pixels in plan.pictures:
        canvas.paste(area, bytes(pixels))


def shown(canvas: Canvas) -> bytes:
    return Image.frombytes("RGB", SIZE, bytes(canvas.pixels), "raw", "BGRX", 0, 1).tobytes()


def test_who_has_nothing_is_sent_everything_and_then_nothing() -> None:
    planner, canvas, image = UpdatePlanner(), Canvas(*SIZE), page(SIZE)
    plan = planner.plan(framed(image), 0.0)
    apply(plan, canvas)
    assert plan.size == SIZE
    assert shown(canvas) == image.tobytes()
    assert not planner.plan(framed(image), 0.1)
    assert not planner.is_behind


def test_where_there_is_little_room_what_is_near_the_pointer_comes_first_and_then_the_rest() -> None:
    planner, canvas, image = UpdatePlanner(), Canvas(*SIZE), page(SIZE)
    room, pointer = 600, (50, 290)
    apply(planner.plan(framed(image), 0.0, room, pointer), canvas)
    near = (0, BAND_ROWS * 2, *SIZE)
    seen = Image.frombytes("RGB", SIZE, shown(canvas))
    assert seen.crop(near).tobytes() == image.crop(near).tobytes()
    assert planner.is_behind
    assert seen.tobytes() != image.tobytes()
    while planner.is_behind:
        apply(planner.plan(framed(image), 0.1, room, pointer), canvas)
    assert shown(canvas) == image.tobytes()


def test_what_keeps_changing_near_the_pointer_does_not_hold_up_the_rest() -> None:
    planner, canvas, image = UpdatePlanner(), Canvas(*SIZE), page(SIZE)
    for number in range(12):
        image.paste(page((400, 120), seed=number), (0, 170))
        planner.drawn([(0, 170, 400, 120)])
        apply(planner.plan(framed(image), number / 10, 600, (50, 290)), canvas)
    above = (0, 0, 400, BAND_ROWS)
    assert Image.frombytes("RGB", SIZE, shown(canvas)).crop(above).tobytes() == image.crop(above).tobytes()


def test_only_where_it_was_drawn_is_looked() -> None:
    planner = UpdatePlanner()
    planner.plan(framed(page(SIZE)), 0.0)
    planner.drawn([(0, 0, 64, 64)])
    assert planner.is_behind
    plan = planner.plan(framed(page(SIZE, seed=2)), 0.1)
    assert 0 < sum(map(len, plan.exact)) < 64 * 64 * 4


def test_a_photograph_is_sent_nearly_and_repaid_when_it_is_still() -> None:
    planner, image = UpdatePlanner(), with_photograph(SIZE, (64, 64, 192, 128))
    plan = planner.plan(framed(image), 5.0)
    assert sum(width * height for (_, _, width, height), _ in plan.pictures) == 192 * 128
    assert planner.due_at == 5.0 + REFINE_SECONDS
    canvas = Canvas(*SIZE)
    while planner.due_at is not None:
        apply(planner.plan(framed(image), 5.0 + REFINE_SECONDS), canvas)
    box = (64, 64, 256, 192)
    assert Image.frombytes("RGB", SIZE, shown(canvas)).crop(box).tobytes() == image.crop(box).tobytes()


def test_a_photograph_that_moves_before_it_was_repaid_is_repaid_where_it_is_then() -> None:
    planner, canvas = UpdatePlanner(), Canvas(*SIZE)
    image = with_photograph(SIZE, (32, 64, 192, 96))
    apply_nearly(planner.plan(framed(image), 5.0), canvas)
    for now, by in ((5.1, (0, 40)), (5.2, (24, 0)), (5.3, (0, 37))):
        image = ImageChops.offset(image, *by)
        planner.drawn([WHOLE])
        plan = planner.plan(framed(image), now)
        assert plan.moves
        apply_nearly(plan, canvas)
    while planner.due_at is not None:
        apply_nearly(planner.plan(framed(image), planner.due_at), canvas)
    assert shown(canvas) == image.tobytes()


def apply_nearly(plan: UpdatePlan, canvas: Canvas) -> None:
    """As `apply`, but photographs are drawn as one colour until they are sent exactly."""
    apply(replace(plan, pictures=tuple((area, bytearray(len(pixels))) for area, pixels in plan.pictures)), canvas)


def test_what_moved_is_not_sent_again() -> None:
    planner, canvas = UpdatePlanner(), Canvas(*SIZE)
    apply(planner.plan(framed(page(SIZE)), 0.0), canvas)
    planner.drawn([WHOLE])
    scrolled = page(SIZE, scrolled=32)
    plan = planner.plan(framed(scrolled), 0.1)
    apply(plan, canvas)
    assert plan.moves
    assert shown(canvas) == scrolled.tobytes()


def test_a_menu_that_closes_is_not_sent_again() -> None:
    planner, canvas, image = UpdatePlanner(), Canvas(*SIZE), page(SIZE)
    apply(planner.plan(framed(image), 0.0), canvas)
    opened = image.copy()
    opened.paste(page((128, 128), seed=5), (64, 64))
    for now, screen in ((0.1, opened), (0.2, image), (0.3, opened)):
        planner.drawn([(64, 64, 128, 128)])
        plan = planner.plan(framed(screen), now)
        apply(plan, canvas)
        assert shown(canvas) == screen.tobytes()
    assert not plan.exact
    assert [put for _, put in plan.cached_tiles if put]


def test_who_lost_a_frame_on_the_way_is_sent_it_again_and_no_more() -> None:
    planner, canvas, image = UpdatePlanner(), Canvas(*SIZE), page(SIZE)
    apply(planner.plan(framed(image), 0.0), canvas)
    planner.sent(1)
    for number, at in enumerate([(0, 0), (200, 100), (300, 200)]):
        image.paste("red", (*at, at[0] + 20, at[1] + 10))
        planner.drawn([(*at, 20, 10)])
        plan = planner.plan(framed(image), number / 10)
        assert plan.frame == number + 2
        planner.sent(plan.frame)
        if number < 1:
            apply(plan, canvas)
    planner.acked(1)
    planner.resume(2)
    plan = planner.plan(framed(image), 1.0)
    apply(plan, canvas)
    assert shown(canvas) == image.tobytes()
    assert (plan.frame, plan.size) == (1, None)
    assert sum(map(len, plan.exact)) < 5000


def test_who_comes_back_sees_no_video_that_was_shown() -> None:
    size = (640, 480)
    planner, now = UpdatePlanner(videos=True), 1.0
    plan = UpdatePlan()
    while not plan.videos:
        image = page(size)
        image.paste(photograph((256, 192), int(now * 30)), (64, 64))
        planner.drawn([(64, 64, 256, 192)])
        plan = planner.plan(framed(image), now)
        now += 1 / 30
        assert now < 3
    planner.resume(plan.frame)
    plan = planner.plan(framed(image), now)
    assert not plan.videos
    assert bounding_box([area for area, _ in plan.pictures]) == (64, 64, 256, 192)


def test_a_screen_of_another_size_is_sent_whole() -> None:
    planner = UpdatePlanner()
    planner.plan(framed(photograph(SIZE)), 0.0)
    plan = planner.plan(framed(page((320, 200))), 0.1)
    assert plan.size == (320, 200)
    assert planner.due_at is None


def test_who_has_lost_everything_is_sent_it_again() -> None:
    planner = UpdatePlanner()
    planner.plan(framed(page(SIZE)), 0.0)
    planner.restart()
    assert planner.plan(framed(page(SIZE)), 0.1).size == SIZE


def test_areas_outside_of_the_screen_are_no_matter() -> None:
    planner = UpdatePlanner()
    planner.plan(framed(page(SIZE)), 0.0)
    planner.drawn([(-50, -50, 20, 20), (390, 290, 500, 500), (1000, 0, 10, 10)])
    assert not planner.plan(framed(page(SIZE)), 0.1)


class WatchedVideo:
    """A video of photographs on a page, and a viewer that is shown it by messages; a picture every 30th of a second."""

    size = (400, 300)
    area = (64, 64, 256, 192)

    def __init__(self) -> None:
        self.planner, self.picture, self.now, self.number = UpdatePlanner(videos=True), ReferenceDecoder(), 1.0, 0
        self.picture.take(wire.hello(1, 0, *self.size))

    async def show(self, *over: tuple[Image.Image, tuple[int, int]]) -> Image.Image:
        """Show the next picture with something over it; what is on the screen then."""
        self.number += 1
        image = page(self.size)
        image.paste(photograph(self.area[2:], self.number), self.area[:2])
        return await self.take(image, over)

    async def take(self, image: Image.Image, over: Sequence[tuple[Image.Image, tuple[int, int]]] = ()) -> Image.Image:
        for one in over:
            image.paste(*one)
        self.planner.drawn([self.area])
        await self.send(image)
        self.now += 1 / 30
        return image

    async def send(self, image: Image.Image) -> None:
        plan = self.planner.plan(framed(image), self.now)
        async with FrameEncoder() as encoder:
            async for message in encoder.encode(plan, 4_000_000):
                self.picture.take(message)
        self.planner.sent(plan.frame or self.planner._frame)

    async def begin(self) -> None:
        while "video" not in self.picture.counts.operations:
            await self.show()

    async def rest(self, image: Image.Image) -> None:
        """Let time pass while nothing is drawn, until nothing is due."""
        while self.planner.due_at is not None:
            self.now = max(self.now, self.planner.due_at)
            await self.send(image)


def same(one: Image.Image, other: Image.Image, at: tuple[int, int], size: tuple[int, int]) -> bool:
    box = (*at, at[0] + size[0], at[1] + size[1])
    return one.crop(box).tobytes() == other.crop(box).tobytes()


@pytest.mark.anyio
async def test_a_menu_over_a_video_is_exact_while_the_video_plays_and_gone_when_it_closes() -> None:
    video, menu, at = WatchedVideo(), page((203, 131), seed=3), (101, 83)
    await video.begin()
    for _ in range(10):
        screen = await video.show((menu, at))
    assert same(video.picture.image(), screen, at, menu.size)
    ImageDraw.Draw(menu).rectangle((0, 48, 202, 63), fill="navy")
    for _ in range(3):
        screen = await video.show((menu, at))
        assert same(video.picture.image(), screen, at, menu.size), "a line of it changes"
    screen = await video.show()
    seen, box = video.picture.image(), (*at, at[0] + menu.width, at[1] + menu.height)
    assert ImageStat.Stat(ImageChops.difference(seen.crop(box), screen.crop(box))).mean[1] < 25
    assert ImageStat.Stat(ImageChops.difference(seen.crop(box), menu)).mean[1] > 50
    await video.rest(screen)
    assert video.picture.image().tobytes() == screen.tobytes()


@pytest.mark.anyio
@settings(deadline=None, database=None, max_examples=4)
@given(st.integers(0, 2**32))
async def test_whatever_opens_over_a_video_and_closes_the_still_screen_is_seen_bit_for_bit(seed: int) -> None:
    chance, video = random.Random(seed), WatchedVideo()
    await video.begin()
    over: list[tuple[Image.Image, tuple[int, int]]] = []
    for _ in range(18):
        if chance.random() < 0.2:
            size = (chance.randint(2, 200), chance.randint(2, 160))
            image = page(size) if chance.random() < 0.5 else photograph(size)
            over.append((image, (chance.randint(0, 300), chance.randint(0, 250))))
        elif over and chance.random() < 0.1:
            over.pop()
        screen = await video.show(*over)
    await video.rest(screen)
    video.planner.drawn([(0, 0, *video.size)])  # what was drawn beside the video
    await video.send(screen)
    await video.rest(screen)
    assert video.picture.image().tobytes() == screen.tobytes()
