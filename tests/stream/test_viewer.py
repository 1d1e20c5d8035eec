"""One viewer: frames as it takes them, input if that counts, and nothing pressed after it has gone."""

import asyncio
from functools import partial

import pytest
from PIL import Image

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.connection import Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.capture.x11 import ScreenCapture
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.resume import StreamSessions
from sandbox_server.stream.sound.broadcast import SoundBroadcast
from sandbox_server.stream.viewer import StreamViewer
from sandbox_server.stream.wire import MalformedMessage
from tests.conftest import until
from tests.drivers.x11.conftest import Program, XServer
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.sound.test_broadcast import TONE, Played
from tests.stream.viewers import GUEST, PERSON, QUIET, FakeClient, FakeLease, has_number, watching
from tests.waiting import eventually

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("image", [page(SIZE), photograph(SIZE)], ids=["text", "photograph"])
async def test_a_still_picture_is_the_screen_bit_for_bit(desktop: Desktop, painter: Painter, xserver: XServer, image: Image.Image) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await client.until(lambda: client.frames)
        painter.paint(image)
        real = await shot(desktop.screen)
        await client.shows(real)


async def test_the_way_is_told_what_acks_show_and_what_the_viewer_says_of_it(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await client.until(lambda: client.frames)
        client.say(wire.Signal("an offer"))
        painter.paint(page(SIZE))
        await client.shows(await shot(desktop.screen))
        await asyncio.to_thread(until, lambda: client.heeded and client.signals)
        assert client.signals == ["an offer"]
        assert client.heeded
        assert client.heeded.rate


async def test_who_has_not_said_hello_is_sent_nothing(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with ScreenCapture(xserver.name) as screen, Connection(xserver.name) as connection, FrameEncoder() as encoders, Tasks() as tasks:
        hands = InputInjector(desktop, connection)
        tasks.start(StreamViewer(client, screen, hands, encoders, PERSON, FakeLease(drives=True), StreamSessions(), 1, QUIET).run())
        client.say(wire.Ping(1))
        await client.until(lambda: True)
        assert client.picture.canvas.width == 0


async def test_who_acknowledges_nothing_is_sent_no_more_and_then_the_latest(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient(acks=False)
    async with watching(desktop, xserver.name, client):
        await client.until(lambda: client.frames == 1)
        painter.paint(photograph(SIZE))
        await client.until(lambda: client.frames == 2)
        image = page(SIZE, seed=9)
        painter.paint(image)
        for number in range(3):  # each is answered after whatever was sent before
            client.say(wire.Ping(number))
        assert client.frames == 2
        real = await shot(desktop.screen)
        client.say(wire.Ack(2, 1))
        await client.shows(real)


async def test_input_arrives_and_is_let_go_when_the_viewer_vanishes(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client) as running:
        await client.until(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        client.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        client.serialize.put_nowait(None)
        async with asyncio.timeout(30):
            await running
        await asyncio.to_thread(until_is, program, ["down", "up"])


def until_is(program: Program, kinds: list[str]) -> None:
    until(lambda: program.kinds()[: len(kinds)] == kinds)


async def test_a_watcher_moves_nothing(desktop: Desktop, painter: Painter, program: Program, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client, caller=GUEST) as running:
        await client.until(lambda: client.frames)
        assert client.picture.rights == 0
        for message in (
            wire.Key(ord("k"), down=True),
            wire.PointerInput(9, 9, 1),
            wire.Wheel(0, 500),
            wire.TextInput("x"),
            wire.Copied("y"),
        ):
            client.say(message)
        client.serialize.put_nowait(None)
        async with asyncio.timeout(30):
            await running
        assert program.events == []
        assert await desktop.clipboard.read() == ""


async def test_what_is_no_message_ends_the_viewer(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client) as running:
        client.serialize.put_nowait(b"\xff")
        with pytest.raises(MalformedMessage):
            await asyncio.wait_for(running, 30)


async def test_an_x_server_that_comes_back_is_shown_to_the_same_viewer(desktop: Desktop, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await client.until(lambda: client.frames)
        xserver.kill()
        await client.until(lambda: not client.picture.running)
        xserver.start(xserver.name)
        await client.until(lambda: client.picture.running)
        real = await shot(desktop.screen)
        await client.shows(real)


async def test_who_does_not_drive_moves_nothing_and_who_loses_control_lets_go(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client, lease = FakeClient(), FakeLease(drives=False)
    async with watching(desktop, xserver.name, client, lease=lease):
        await client.until(lambda: client.picture.rights == wire.MAY_ACT)
        client.say(wire.PointerInput(20, 20, 0))
        client.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until, lambda: lease.asked == 1)
        lease.set(drives=True)
        await client.until(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        client.say(wire.Key(ord("j"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        lease.set(drives=False)
        await asyncio.to_thread(until_is, program, ["down", "up"])
        assert [event[1] for event in program.events] == [ord("j"), ord("j")]


async def test_in_private_a_viewer_that_may_not_see_is_shown_nothing_until_it_ends(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    client, lease = FakeClient(), FakeLease(drives=False)
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=lease):
        await client.begins()
        lease.show(sees=False)
        await client.until(lambda: client.picture.rights == wire.HIDDEN)
        frames = client.frames
        await desktop.pointer.move(123, 234)
        await desktop.clipboard.write("hunter2")
        painter.paint(Image.new("RGB", (64, 64), (255, 0, 0)))
        for pongs in range(1, 4):
            client.say(wire.Ping(pongs))
            await client.until(partial(has_number, client.pongs, pongs))
        assert (client.frames, client.picture.copied) == (frames, None)
        lease.show(sees=True)
        await client.until(lambda: client.picture.rights == 0)
        await client.shows(await shot(desktop.screen))
        assert client.picture.copied is None, "it was copied in private"


async def test_who_watches_sees_the_pointer_move(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=FakeLease(drives=False)):
        await client.until(lambda: client.picture.pointer is not None)
        await desktop.pointer.move(123, 234)
        await client.until(lambda: client.picture.pointer == (123, 234))


async def test_what_is_copied_is_told_to_who_may_act_alone(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client, guest = FakeClient(), FakeClient()
    async with watching(desktop, xserver.name, client), watching(desktop, xserver.name, guest, caller=GUEST):
        for each in (client, guest):
            await each.begins()
        await desktop.clipboard.write("copied on the desktop")
        await client.until(lambda: client.picture.copied == "copied on the desktop")
        assert guest.picture.copied is None


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
        await client.until(lambda: client.picture.heard)
        await eventually(lambda: not played.left)
        assert kept_out.picture.heard is None


async def test_a_slow_viewer_holds_up_no_other(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    slow, quick = FakeClient(acks=False), FakeClient()
    name = xserver.name
    async with ScreenCapture(name) as screen, Connection(name) as connection, FrameEncoder() as encoders, Tasks() as tasks:
        sessions = StreamSessions()
        for number, each in enumerate((slow, quick)):
            hands = InputInjector(desktop, connection)
            tasks.start(StreamViewer(each, screen, hands, encoders, PERSON, FakeLease(drives=True), sessions, number, QUIET).run())
            each.say(wire.Hello(wire.VERSION, videos=False))
            await each.begins()
        for number in range(5):
            painter.paint(photograph(SIZE, number))
            real = await shot(desktop.screen)
            await quick.shows(real)
        assert slow.frames < quick.frames


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
        await first.until(lambda: first.lost)
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
