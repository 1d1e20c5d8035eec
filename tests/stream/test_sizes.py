"""Screens of every size, exactly, to several viewers at once, while the size changes and when the X server is another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.screen import MAX_SIZE
from sandbox_server.stream import wire
from sandbox_server.stream.encode import Encoders
from sandbox_server.stream.hands import Hands
from sandbox_server.stream.screen import Screen
from sandbox_server.stream.sessions import Sessions
from sandbox_server.stream.viewer import Viewer
from tests.drivers.x11.conftest import XServer
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.test_viewer import GUEST, PERSON, QUIET, Place, Seat

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


@asynccontextmanager
async def two(desktop: Desktop, name: str) -> AsyncIterator[tuple[Seat, Seat]]:
    """Who drives, and who watches the same screen."""
    seats = Seat(), Seat()
    async with Screen(name) as screen, X11Connection(name) as connection, Encoders() as encoders, Tasks() as tasks:
        sessions = Sessions()
        for number, (seat, caller) in enumerate(zip(seats, (PERSON, GUEST), strict=True)):
            lease, hands = Place(drives=caller is PERSON), Hands(desktop, connection)
            tasks.start(Viewer(seat, screen, hands, encoders, caller, lease, sessions, number, QUIET).run())
            seat.say(wire.Hello(wire.VERSION, films=False))
            await seat.begins()
        yield seats


def size_of(seat: Seat) -> tuple[int, int]:
    return seat.picture.canvas.width, seat.picture.canvas.height


async def both_show(seats: tuple[Seat, Seat], pixels: bytes) -> None:
    for seat in seats:
        await seat.shows(pixels)


async def test_the_largest_screen_is_shown_bit_for_bit_up_to_its_last_corner(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    await desktop.screen.resize(MAX_SIZE)
    async with two(desktop, xserver.name) as seats:
        painter.paint(page(SIZE))
        painter.paint(photograph((300, 200)), (MAX_SIZE[0] - 300, MAX_SIZE[1] - 200))
        await both_show(seats, await shot(desktop.screen))
        assert size_of(seats[0]) == MAX_SIZE


async def test_a_screen_that_changes_its_size_again_and_again_is_followed_by_all(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    async with two(desktop, xserver.name) as seats:
        for number, size in enumerate([(1921, 1081), (333, 257), (64, 64), (1280, 1024)]):
            painter.paint(photograph((64, 64), number))
            await desktop.screen.resize(size)
            painter.paint(page((400, 300), seed=number), (20, 10))
            await both_show(seats, await shot(desktop.screen))
            assert [size_of(seat) for seat in seats] == [size, size]


async def test_who_drives_fits_the_screen_to_a_window_and_who_watches_does_not(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    async with two(desktop, xserver.name) as (driver, watcher):
        watcher.say(wire.Fit(500, 400))
        watcher.say(wire.Ping(1))
        await watcher.until(lambda: watcher.pongs)
        driver.say(wire.Fit(1001, 701))
        for seat in (driver, watcher):
            await seat.until(lambda seat=seat: size_of(seat) == (1000, 700))  # type: ignore[misc] # one for each
        await both_show((driver, watcher), await shot(desktop.screen))


async def test_an_x_server_that_dies_under_two_viewers_comes_back_to_both(desktop: Desktop, xserver: XServer) -> None:
    await desktop.screen.resize((801, 603))
    async with two(desktop, xserver.name) as seats:
        xserver.kill()
        for seat in seats:
            await seat.until(lambda seat=seat: not seat.picture.running)  # type: ignore[misc] # one for each
        xserver.start(xserver.name)
        for seat in seats:
            await seat.until(lambda seat=seat: seat.picture.running)  # type: ignore[misc] # one for each
        other = Painter(xserver.name)
        other.paint(Image.new("RGB", (90, 60), (7, 8, 9)), (100, 100))
        await both_show(seats, await shot(desktop.screen))
        assert [size_of(seat) for seat in seats] == [(801, 603)] * 2
        other.close()
