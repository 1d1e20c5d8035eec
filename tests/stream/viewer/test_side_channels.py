"""What a viewer is sent beside frames, and who is not."""

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.conftest import Painter
from tests.stream.viewers import GUEST, FakeClient, FakeLease, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


async def test_who_watches_sees_the_pointer_move(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=FakeLease(drives=False)):
        await eventually(lambda: client.picture.pointer is not None)
        await desktop.pointer.move(123, 234)
        await eventually(lambda: client.picture.pointer == (123, 234))


async def test_what_is_copied_is_told_to_who_may_act_alone(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client, guest = FakeClient(), FakeClient()
    async with watching(desktop, xserver.name, client), watching(desktop, xserver.name, guest, caller=GUEST):
        for each in (client, guest):
            await each.begins()
        await desktop.clipboard.write("copied on the desktop")
        await eventually(lambda: client.picture.copied == "copied on the desktop")
        assert guest.picture.copied is None
