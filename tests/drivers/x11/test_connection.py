"""A display that is down, or hangs, is an error within bounds, and one that is back is used again."""

import os
import signal

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.x11 import connection
from sandbox_server.drivers.x11.connection import Display, X11Connection
from tests.drivers.x11.conftest import XServer

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket of a connection that was refused to the garbage collector.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


def width(display: Display) -> int:
    return int(display.screen().root.get_geometry().width)


async def test_without_an_x_server_a_call_says_so() -> None:
    async with X11Connection(":12345") as nowhere:
        with pytest.raises(Unavailable, match="not running"):
            await nowhere.call(width)


async def test_a_server_that_was_restarted_is_connected_to_again(xserver: XServer) -> None:
    opened: list[Display] = []
    async with X11Connection(xserver.name, opened=opened.append) as connected:
        assert await connected.call(width) == 3840
        xserver.kill()
        with pytest.raises(Unavailable):
            await connected.call(width)
        xserver.start(xserver.name)
        assert await connected.call(width) == 3840
    assert len(opened) == 2


async def test_a_server_that_hangs_is_given_up_in_time_and_used_again_later(xserver: XServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert xserver.process
    async with X11Connection(xserver.name) as connected:
        await connected.call(width)
        os.kill(xserver.process.pid, signal.SIGSTOP)
        with monkeypatch.context() as impatient:
            impatient.setattr(connection, "CALL_SECONDS", 0.3)
            with pytest.raises(Unavailable, match="does not answer"):
                await connected.call(width)
        os.kill(xserver.process.pid, signal.SIGCONT)
        assert await connected.call(width) == 3840
