"""When a viewer is sent a frame: not right after the one before, and at once otherwise."""

from functools import partial
from types import SimpleNamespace

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from tests.drivers.x11.conftest import XServer
from tests.stream.conftest import SIZE, Painter
from tests.stream.screens import page
from tests.stream.test_viewer import Seat, told, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


async def test_frames_are_spaced_and_what_wakes_a_viewer_without_a_frame_delays_none(
    desktop: Desktop, painter: Painter, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat, clock = Seat(), [1000.0]
    monkeypatch.setattr("sandbox_server.stream.viewer.time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def ping(number: int) -> None:
        seat.say(wire.Ping(number))
        await seat.until(partial(told, seat.pongs, number))

    async with watching(desktop, xserver.name, seat):
        await seat.begins()
        frames = seat.frames
        clock[0] += 1
        for number in range(1, 4):  # each wakes what shows the screen, as a click does
            await ping(number)
        painter.paint(page(SIZE))
        await seat.until(lambda: seat.frames > frames)
        frames = seat.frames
        painter.paint(page(SIZE, seed=9))
        for number in range(4, 7):
            await ping(number)
        assert seat.frames == frames, "right after the one before"
        clock[0] += 1
        await seat.until(lambda: seat.frames > frames)
