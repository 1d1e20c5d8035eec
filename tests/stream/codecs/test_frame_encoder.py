"""Encoding of a plan: one message for little, several for much, and the last ends the frame."""

import pytest
from PIL import Image

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.codecs.h264 import H264Encoder
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.plan.update_plan import UpdatePlan
from sandbox_server.stream.plan.update_planner import UpdatePlanner
from tests.stream.screens import framed, page, photograph, with_photograph

pytestmark = pytest.mark.anyio

SIZE = (640, 480)


async def messages(plan: UpdatePlan, *, tracked: bool = False) -> list[bytes]:
    async with FrameEncoder() as encoder:
        return [message async for message in encoder.encode(plan, 1_000_000, tracked=tracked)]


async def test_what_was_planned_arrives() -> None:
    image = page(SIZE)
    planner, picture = UpdatePlanner(), ReferenceDecoder()
    picture.take(wire.hello(1, 0, *SIZE))
    ended = [picture.take(message) for message in await messages(planner.plan(framed(image), 0.0))]
    assert ended == [None] * (len(ended) - 1) + [1]
    assert picture.image().tobytes() == image.tobytes()


async def test_little_is_one_message() -> None:
    planner, image = UpdatePlanner(), page(SIZE)
    planner.plan(framed(image), 0.0)
    image.paste("red", (10, 10, 13, 13))
    planner.drawn([(10, 10, 3, 3)])
    [message] = await messages(planner.plan(framed(image), 0.1))
    assert len(message) < 60


async def test_a_photograph_is_a_jpeg_that_looks_like_it() -> None:
    planner, picture, image = UpdatePlanner(), ReferenceDecoder(), with_photograph(SIZE, (64, 64, 256, 192))
    picture.take(wire.hello(1, 0, *SIZE))
    for message in await messages(planner.plan(framed(image), 0.0)):
        picture.take(message)
    assert picture.counts.operations["jpeg"]
    box = (64, 64, 320, 256)
    sent, is_ = picture.image().crop(box).resize((1, 1), Image.Resampling.BOX), image.crop(box).resize((1, 1), Image.Resampling.BOX)
    assert max(abs(a - b) for a, b in zip(sent.tobytes(), is_.tobytes(), strict=True)) < 4


async def test_a_video_that_goes_by_a_track_is_a_picture_and_where_it_belongs() -> None:
    area = (64, 64, 256, 192)
    writer = H264Encoder(area, 1_000_000)
    writer.capture(framed(photograph(SIZE)))
    picture, part = await messages(UpdatePlan(frame=1, videos=((3, writer),)), tracked=True)
    timestamp, packed = wire.read_picture(picture)
    assert packed.startswith(b"\x00\x00\x00\x01")
    assert part == wire.part(1, wire.tracked(3, area, timestamp), last=True)
