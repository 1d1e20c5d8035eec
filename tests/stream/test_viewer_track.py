"""One viewer that takes films as a track: shown one by it, made a whole picture when it asks, and nothing where it may not see."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import motion, wire
from tests.drivers.x11.conftest import XServer
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.test_viewer import GUEST, Place, Seat, told, watching

pytestmark = pytest.mark.anyio

WHOLE = b"\x00\x00\x01\x65"
"""In a picture of a film that needs none before it."""


async def paint_until(painter: Painter, seat: Seat, true: Callable[[], object]) -> None:
    """Let the screen move until something is true."""
    async with asyncio.timeout(30):
        for number in itertools.count():
            if true():
                return
            frames = seat.frames
            painter.paint(photograph((256, 192), number), (64, 64))
            await seat.until(partial(_more, seat, frames))


def _more(seat: Seat, frames: int) -> bool:
    return seat.frames > frames


async def test_who_takes_a_track_is_shown_a_film_by_it_and_what_is_there_once_it_is_gone(
    desktop: Desktop, painter: Painter, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(motion, "COOLS", 0)
    seat = Seat()
    async with watching(desktop, xserver.name, seat):
        await seat.begins()
        await paint_until(painter, seat, lambda: seat.picture.counts.operations.get("jpeg"))
        assert seat.pictures == []
        seat.has_track = True
        await paint_until(painter, seat, lambda: len(seat.pictures) > 2)
        seat.lost_track, shown = 1, len(seat.pictures)
        await paint_until(painter, seat, lambda: any(WHOLE in picture for picture in seat.pictures[shown:]))
        seat.has_track = False
        painter.paint(page(SIZE))
        await seat.shows(await shot(desktop.screen))
        shown = len(seat.pictures)
        seen = seat.frames
        await paint_until(painter, seat, lambda: seat.frames > seen + 8)
        assert len(seat.pictures) == shown


async def test_in_private_no_track_shows_anything_either(
    desktop: Desktop, painter: Painter, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(motion, "COOLS", 0)
    seat, lease = Seat(), Place(drives=False)
    seat.has_track = True
    async with watching(desktop, xserver.name, seat, caller=GUEST, lease=lease):
        await seat.begins()
        await paint_until(painter, seat, lambda: seat.pictures)
        lease.show(sees=False)
        await seat.until(lambda: seat.picture.rights == wire.HIDDEN)
        shown = len(seat.pictures)
        for pongs in range(1, 4):
            painter.paint(photograph((256, 192), pongs), (64, 64))
            seat.say(wire.Ping(pongs))
            await seat.until(partial(told, seat.pongs, pongs))
        assert len(seat.pictures) == shown
        lease.show(sees=True)
        await seat.until(lambda: seat.picture.rights == 0)
