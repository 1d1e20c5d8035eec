"""One viewer: greeted, served until it leaves, shown nothing in private mode, and resumed where it left."""

import asyncio
from functools import partial

import pytest
from PIL import Image

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.resume import StreamSessions
from sandbox_server.stream.viewer.stream_viewer import StreamViewer
from sandbox_server.stream.wire import MalformedMessage
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import photograph
from tests.stream.viewers import GUEST, PERSON, FakeClient, FakeLease, has_number, sharing, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


async def test_who_has_not_said_hello_is_sent_nothing(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with sharing(xserver.name) as sources, X11Connection(xserver.name) as connection, Tasks() as tasks:
        injector = InputInjector(desktop, connection)
        tasks.start(StreamViewer(client, sources, injector, PERSON, FakeLease(drives=True), 1).run())
        client.say(wire.Ping(1))
        await eventually(client.outgoing.empty)
        assert client.picture.canvas.width == 0


async def test_what_is_no_message_ends_the_viewer(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client) as running:
        client.outgoing.put_nowait(b"\xff")
        with pytest.raises(MalformedMessage):
            await asyncio.wait_for(running, 30)


async def test_an_x_server_that_comes_back_is_shown_to_the_same_viewer(desktop: Desktop, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await eventually(lambda: client.frames)
        xserver.kill()
        await eventually(lambda: not client.picture.running)
        xserver.start(xserver.name)
        await eventually(lambda: client.picture.running)
        real = await shot(desktop.screen)
        await client.shows(real)


async def test_in_private_a_viewer_that_may_not_see_is_shown_nothing_until_it_ends(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    client, lease = FakeClient(), FakeLease(drives=False)
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=lease):
        await client.begins()
        lease.show(sees=False)
        await eventually(lambda: client.picture.rights == wire.HIDDEN)
        frames = client.frames
        await desktop.pointer.move(123, 234)
        await desktop.clipboard.write("hunter2")
        painter.paint(Image.new("RGB", (64, 64), (255, 0, 0)))
        for pongs in range(1, 4):
            client.say(wire.Ping(pongs))
            await eventually(partial(has_number, client.pongs, pongs))
        assert (client.frames, client.picture.copied) == (frames, None)
        lease.show(sees=True)
        await eventually(lambda: client.picture.rights == 0)
        await client.shows(await shot(desktop.screen))
        assert client.picture.copied is None, "it was copied in private"


async def test_who_comes_back_is_sent_only_what_differs(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    first, again, sessions = FakeClient(), FakeClient(), StreamSessions()
    painter.paint(photograph(SIZE))
    async with watching(desktop, xserver.name, first, sessions=sessions):
        await first.shows(await shot(desktop.screen))
    painter.paint(Image.new("RGB", (40, 30), "red"), (100, 100))
    again.picture = first.picture
    before = wire.Resume(first.picture.session, first.picture.done)
    async with watching(desktop, xserver.name, again, sessions=sessions, session=2, before=before):
        await again.shows(await shot(desktop.screen))
        assert again.picture.session == 2
        assert again.bytes < 5000


async def test_who_comes_back_without_a_frame_that_was_lost_on_the_way_is_whole_again(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    first, again, sessions = FakeClient(), FakeClient(), StreamSessions()
    painter.paint(photograph(SIZE))
    async with watching(desktop, xserver.name, first, sessions=sessions):
        await first.shows(await shot(desktop.screen))
        first.deaf = True
        done = first.picture.done
        painter.paint(photograph((200, 100), 7), (50, 60))
        await eventually(lambda: first.lost)
    again.picture = first.picture
    async with watching(desktop, xserver.name, again, sessions=sessions, session=2, before=wire.Resume(1, done)):
        await again.shows(await shot(desktop.screen))
        assert again.bytes < 200_000


@pytest.mark.parametrize("before", [wire.Resume(9, 1), wire.Resume(1, 1)], ids=["no such session", "somebody else's"])
async def test_who_goes_on_with_what_is_not_known_is_sent_everything(
    desktop: Desktop, painter: Painter, xserver: XServer, before: wire.Resume
) -> None:
    first, again, sessions = FakeClient(), FakeClient(), StreamSessions()
    painter.paint(photograph(SIZE))
    async with watching(desktop, xserver.name, first, sessions=sessions):
        await first.shows(await shot(desktop.screen))
    async with watching(desktop, xserver.name, again, caller=GUEST, sessions=sessions, session=2, before=before):
        await again.shows(await shot(desktop.screen))
