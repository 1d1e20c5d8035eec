"""The frame clock: no frame right after the one before, and otherwise at once."""

from functools import partial
from types import SimpleNamespace

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.conftest import SIZE, Painter
from tests.stream.screens import page
from tests.stream.viewers import FakeClient, has_number, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


async def test_frames_are_spaced_and_what_wakes_a_viewer_without_a_frame_delays_none(
    desktop: Desktop, painter: Painter, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, clock = FakeClient(), [1000.0]
    for module in ("frame_clock", "frame_sender"):
        monkeypatch.setattr(f"sandbox_server.stream.viewer.{module}.time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def ping(number: int) -> None:
        client.say(wire.Ping(number))
        await eventually(partial(has_number, client.pongs, number))

    async with watching(desktop, xserver.name, client):
        await client.begins()
        frames = client.frames
        clock[0] += 1
        for number in range(1, 4):  # each wakes what shows the screen, as a click does
            await ping(number)
        painter.paint(page(SIZE))
        await eventually(lambda: client.frames > frames)
        frames = client.frames
        painter.paint(page(SIZE, seed=9))
        for number in range(4, 7):
            await ping(number)
        assert client.frames == frames, "right after the one before"
        clock[0] += 1
        await eventually(lambda: client.frames > frames)
