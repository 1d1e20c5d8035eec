"""One viewer that takes videos as a track: shown one by it, made a whole picture when it asks, and nothing where it may not see."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.classify import video_regions
from tests.drivers.x11.conftest import XServer
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.viewers import GUEST, FakeClient, FakeLease, has_number, watching

pytestmark = pytest.mark.anyio

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
            await client.until(partial(_more, client, frames))


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
        await client.until(lambda: client.picture.rights == wire.HIDDEN)
        shown = len(client.pictures)
        for pongs in range(1, 4):
            painter.paint(photograph((256, 192), pongs), (64, 64))
            client.say(wire.Ping(pongs))
            await client.until(partial(has_number, client.pongs, pongs))
        assert len(client.pictures) == shown
        lease.show(sees=True)
        await client.until(lambda: client.picture.rights == 0)
