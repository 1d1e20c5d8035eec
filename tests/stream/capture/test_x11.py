"""Screen capture: damaged rows are captured, at the screen's own size, and again when the X server returns."""

import asyncio
import gc

import pytest
from PIL import Image

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.x11.damage import Area
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.capture.x11 import ScreenCapture, _bands
from sandbox_server.stream.codecs.conversion import crop
from sandbox_server.stream.native.library import Rect
from tests.drivers.x11.conftest import XServer
from tests.stream.conftest import SIZE, Painter
from tests.threads import Held

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


class CaptureListener:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.areas: list[Area] = []
        self.woken = asyncio.Event()

    def drawn(self, areas: list[Area]) -> None:
        self.areas += areas

    def wake(self) -> None:
        self.woken.set()

    async def until_woken(self) -> None:
        async with asyncio.timeout(30):
            await self.woken.wait()
        self.woken.clear()


def pixel(frame: CapturedFrame, x: int, y: int) -> bytes:
    return bytes(crop(frame, Rect(x, y, 1, 1))[:3])


async def test_what_is_drawn_wakes_who_watches_and_is_in_the_frame(painter: Painter, xserver: XServer) -> None:
    async with ScreenCapture(xserver.name) as screen:
        watcher = CaptureListener()
        await screen.join(watcher)
        assert await screen.look(lambda frame: (frame.width, frame.height)) == SIZE
        watcher.areas.clear()
        watcher.woken.clear()
        painter.paint(Image.new("RGB", (30, 20), (1, 2, 3)), (100, 50))
        await watcher.until_woken()
        assert screen.is_ahead
        assert await screen.look(lambda frame: (pixel(frame, 100, 50), pixel(frame, 129, 69))) == (bytes([3, 2, 1]),) * 2
        assert watcher.areas == [(100, 50, 30, 20)]
        assert not screen.is_ahead


async def test_capture_is_ahead_until_every_listener_has_the_damage(painter: Painter, xserver: XServer) -> None:
    async with ScreenCapture(xserver.name) as screen:
        ahead: list[bool] = []

        class Asking(CaptureListener):
            def drawn(self, areas: list[Area]) -> None:
                ahead.append(screen.is_ahead)
                super().drawn(areas)

        for watcher in (Asking(), Asking()):
            await screen.join(watcher)
        watcher.woken.clear()
        painter.paint(Image.new("RGB", (30, 20), (1, 2, 3)))
        await watcher.until_woken()
        await screen.look(lambda frame: frame)
        assert len(ahead) >= 4
        assert all(ahead)
        assert not screen.is_ahead


async def test_while_nobody_watches_nothing_is_noted(painter: Painter, xserver: XServer) -> None:
    async with ScreenCapture(xserver.name) as screen:
        watcher = CaptureListener()
        await screen.join(watcher)
        await screen.leave(watcher)
        watcher.areas.clear()
        painter.paint(Image.new("RGB", (30, 20), "red"))
        another = CaptureListener()
        await screen.join(another)
        assert watcher.areas == []
        assert await screen.look(lambda frame: pixel(frame, 0, 0)) == bytes([0, 0, 255])


async def test_a_new_size_is_the_frames(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    async with ScreenCapture(xserver.name) as screen:
        watcher = CaptureListener()
        await screen.join(watcher)
        for size in ((800, 600), (320, 240)):
            await desktop.screen.resize(size)
            async with asyncio.timeout(30):
                while await screen.look(lambda frame: (frame.width, frame.height)) != size:
                    await watcher.until_woken()


async def test_an_x_server_that_comes_back_is_shown_again(xserver: XServer) -> None:
    async with ScreenCapture(xserver.name) as screen:
        watcher = CaptureListener()
        await screen.join(watcher)
        xserver.kill()
        while screen.running:
            await watcher.until_woken()
        with pytest.raises(Unavailable):
            await screen.look(lambda frame: frame)
        xserver.start(xserver.name)
        while not screen.running:
            await watcher.until_woken()
        other = Painter(xserver.name)
        other.paint(Image.new("RGB", (9, 9), (7, 8, 9)))
        assert await screen.look(lambda frame: pixel(frame, 0, 0)) == bytes([9, 8, 7])
        other.close()


async def test_the_pointers_picture_is_known(desktop: Desktop, xserver: XServer) -> None:
    async with ScreenCapture(xserver.name) as screen:
        await screen.join(CaptureListener())
        assert screen.cursor is not None
        assert len(screen.cursor.pixels) == screen.cursor.width * screen.cursor.height * 4


def test_rows_are_taken_once() -> None:
    assert _bands([(0, 10, 5, 10), (90, 15, 5, 10), (0, 40, 1, 5), (0, -5, 9, 7), (0, 95, 1, 50)], 100) == [
        (0, 2),
        (10, 25),
        (40, 45),
        (95, 100),
    ]


async def test_a_look_that_nobody_waits_for_any_more_keeps_its_pixels(desktop: Desktop, xserver: XServer) -> None:
    painter = Painter(xserver.name)
    painter.paint(Image.new("RGB", SIZE, (7, 8, 9)))
    painter.close()
    async with ScreenCapture(xserver.name) as screen:
        await screen.join(CaptureListener())
        held = Held(lambda frame: None, lambda frame: pixel(frame, SIZE[0] - 1, SIZE[1] - 1))
        looking = asyncio.create_task(screen.look(held))
        await held.begun()
        await desktop.screen.resize((800, 600))
        xserver.kill()
        looking.cancel()
        again = asyncio.create_task(screen.join(CaptureListener()))
        for _ in range(20):
            await asyncio.sleep(0)
        gc.collect()
        held.release()
        await again
        assert held.notes == [bytes([9, 8, 7])]
