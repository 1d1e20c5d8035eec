"""The frames of one viewer: exact when still, as many as it acknowledges, and video by a track where it takes one."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

import pytest
from PIL import Image

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.classify import video_regions
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.viewer.stream_viewer import StreamViewer
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually, until
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.viewers import GUEST, PERSON, FakeClient, FakeLease, has_number, sharing, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


WHOLE = b"\x00\x00\x01\x65"
"""In a picture of a video that needs none before it."""


async def paint_until(painter: Painter, client: FakeClient, true: Callable[[], object]) -> None:
    """Let the screen move until something is true."""
    async with asyncio.timeout(30):
        for number in itertools.count():
            if true():
                return
            frames = client.frames
            painter.paint(photograph((256, 192), number), (64, 64))
            await eventually(partial(_more, client, frames))


def _more(client: FakeClient, frames: int) -> bool:
    return client.frames > frames


async def test_who_takes_a_track_is_shown_a_video_by_it_and_what_is_there_once_it_is_gone(
    desktop: Desktop, painter: Painter, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video_regions, "DECAY", 0)
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await client.begins()
        await paint_until(painter, client, lambda: client.picture.counts.operations.get("jpeg"))
        assert client.pictures == []
        client.has_track = True
        await paint_until(painter, client, lambda: len(client.pictures) > 2)
        client.lost_track, shown = 1, len(client.pictures)
        await paint_until(painter, client, lambda: any(WHOLE in picture for picture in client.pictures[shown:]))
        client.has_track = False
        painter.paint(page(SIZE))
        await client.shows(await shot(desktop.screen))
        shown = len(client.pictures)
        seen = client.frames
        await paint_until(painter, client, lambda: client.frames > seen + 8)
        assert len(client.pictures) == shown


async def test_in_private_no_track_shows_anything_either(
    desktop: Desktop, painter: Painter, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video_regions, "DECAY", 0)
    client, lease = FakeClient(), FakeLease(drives=False)
    client.has_track = True
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=lease):
        await client.begins()
        await paint_until(painter, client, lambda: client.pictures)
        lease.show(sees=False)
        await eventually(lambda: client.picture.rights == wire.HIDDEN)
        shown = len(client.pictures)
        for pongs in range(1, 4):
            painter.paint(photograph((256, 192), pongs), (64, 64))
            client.say(wire.Ping(pongs))
            await eventually(partial(has_number, client.pongs, pongs))
        assert len(client.pictures) == shown
        lease.show(sees=True)
        await eventually(lambda: client.picture.rights == 0)


@pytest.mark.parametrize("image", [page(SIZE), photograph(SIZE)], ids=["text", "photograph"])
async def test_a_still_picture_is_the_screen_bit_for_bit(desktop: Desktop, painter: Painter, xserver: XServer, image: Image.Image) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await eventually(lambda: client.frames)
        painter.paint(image)
        real = await shot(desktop.screen)
        await client.shows(real)


async def test_the_way_is_told_what_acks_show_and_what_the_viewer_says_of_it(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await eventually(lambda: client.frames)
        client.say(wire.Signal("an offer"))
        painter.paint(page(SIZE))
        await client.shows(await shot(desktop.screen))
        await asyncio.to_thread(until, lambda: client.heeded and client.signals)
        assert client.signals == ["an offer"]
        assert client.heeded
        assert client.heeded.rate


async def test_who_acknowledges_nothing_is_sent_no_more_and_then_the_latest(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient(acks=False)
    async with watching(desktop, xserver.name, client):
        await eventually(lambda: client.frames == 1)
        painter.paint(photograph(SIZE))
        await eventually(lambda: client.frames == 2)
        image = page(SIZE, seed=9)
        painter.paint(image)
        for number in range(3):  # each is answered after whatever was sent before
            client.say(wire.Ping(number))
        assert client.frames == 2
        real = await shot(desktop.screen)
        client.say(wire.Ack(2, 1))
        await client.shows(real)


async def test_a_slow_viewer_holds_up_no_other(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    slow, quick = FakeClient(acks=False), FakeClient()
    name = xserver.name
    async with sharing(name) as sources, X11Connection(name) as connection, Tasks() as tasks:
        for number, each in enumerate((slow, quick)):
            injector = InputInjector(desktop, connection)
            tasks.start(StreamViewer(each, sources, injector, PERSON, FakeLease(drives=True), number).run())
            each.say(wire.Hello(wire.VERSION, videos=False))
            await each.begins()
        for number in range(5):
            painter.paint(photograph(SIZE, number))
            real = await shot(desktop.screen)
            await quick.shows(real)
        assert slow.frames < quick.frames
