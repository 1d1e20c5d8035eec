"""The sound of one viewer: heard by who asks for it and may see the screen."""

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.sound.broadcast import SoundBroadcast
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.sound.test_broadcast import TONE, Played
from tests.stream.viewers import FakeClient, FakeLease, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


async def test_who_listens_hears_unless_the_screen_is_hidden(desktop: Desktop, xserver: XServer) -> None:
    client, kept_out, hidden = FakeClient(), FakeClient(), FakeLease(drives=False)
    hidden.show(sees=False)
    played = Played()
    async with (
        SoundBroadcast(played) as sound,
        watching(desktop, xserver.name, kept_out, lease=hidden, sound=sound),
        watching(desktop, xserver.name, client, sound=sound),
    ):
        for each in (kept_out, client):
            each.say(wire.Listens(listens=True))
        await eventually(lambda: len(sound._queues) == 2)
        played.play(*[TONE] * 10)
        await eventually(lambda: client.picture.heard)
        await eventually(lambda: not played.left)
        assert kept_out.picture.heard is None
