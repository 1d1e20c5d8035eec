"""One viewer: frames as it takes them, input if that counts, and nothing pressed after it has gone."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from PIL import Image

from sandbox_server.core.results import Caller
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.encode import Encoders
from sandbox_server.stream.hands import Hands
from sandbox_server.stream.picture import ViewerPicture
from sandbox_server.stream.screen import Screen
from sandbox_server.stream.sessions import Sessions
from sandbox_server.stream.sound import Broadcast
from sandbox_server.stream.viewer import Viewer
from sandbox_server.stream.window import Window
from sandbox_server.stream.wire import BadMessage
from tests.conftest import until
from tests.drivers.x11.conftest import Program, XServer
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.test_sound import TONE, Played
from tests.waiting import eventually

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

PERSON = Caller("person", frozenset({"view", "control"}), person=True)
QUIET = Broadcast(PulseAudio("/nonexistent"))
GUEST = Caller("guest", frozenset({"view"}), person=True)


class Place:
    """A lease that says what it is told to; `asked` counts the inputs that meant to act."""

    def __init__(self, *, drives: bool) -> None:
        self.drives = drives
        self.sees: bool | None = True
        self.programs = True
        self.asked = 0
        self.changed: Callable[[], None] = lambda: None

    async def act(self) -> bool:
        self.asked += 1
        return self.drives

    def set(self, *, drives: bool) -> None:
        self.drives, self.programs = drives, not drives
        self.changed()

    def show(self, *, sees: bool) -> None:
        self.sees = sees
        self.changed()


class Seat:
    """A viewer's end: what it says goes in, what it is sent is put together. `acks`: whether it acknowledges frames."""

    def __init__(self, *, acks: bool = True) -> None:
        self.picture = ViewerPicture()
        self.said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.frames = 0
        self.bytes = 0
        self.deaf = False
        """Whether what is sent is lost."""
        self.lost = 0
        self.pongs: list[int] = []
        self.heeded: Window | None = None
        self.signals: list[str] = []
        self.has_track = False
        self.pictures: list[bytes] = []
        self.lost_track = 0
        self.missing: list[int] = []
        self._acks = acks
        self._changed = asyncio.Condition()

    async def send(self, message: bytes) -> None:
        self.lost += self.deaf
        self.bytes += len(message)
        if message[0] == wire.PICTURE:
            self.pictures.append(message)
            return
        if message[0] == wire.PONG:
            self.pongs.append(int.from_bytes(message[1:5], "little"))
        ended = None if self.deaf else self.picture.take(message)
        if ended is not None:
            self.frames += 1
            if self._acks:
                self.say(wire.Ack(ended, 1))
        async with self._changed:
            self._changed.notify_all()

    async def receive(self) -> bytes | None:
        return await self.said.get()

    def heed(self, window: Window) -> None:
        self.heeded = window

    def signalled(self, text: str) -> None:
        self.signals.append(text)

    def take_lost(self) -> bool:
        lost, self.lost_track = self.lost_track, 0
        return bool(lost)

    def missed(self, share: int) -> None:
        self.missing.append(share)

    def say(self, message: wire.FromViewer) -> None:
        self.said.put_nowait(wire.said(message))

    async def begins(self) -> None:
        await self.until(lambda: self.frames)

    async def shows(self, pixels: bytes) -> None:
        await self.until(lambda: self.picture.image().tobytes() == pixels)

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(30), self._changed:
            await self._changed.wait_for(true)


@asynccontextmanager
async def watching(
    desktop: Desktop,
    name: str,
    seat: Seat,
    *,
    caller: Caller = PERSON,
    lease: Place | None = None,
    sessions: Sessions | None = None,
    session: int = 1,
    sound: Broadcast = QUIET,
    microphone: PulseAudio | None = None,
    before: wire.Resume | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    async with Screen(name) as screen, X11Connection(name) as connection, Encoders() as encoders, Tasks() as tasks:
        hands, kept = Hands(desktop, connection), sessions or Sessions()
        viewer = Viewer(seat, screen, hands, encoders, caller, lease or Place(drives=True), kept, session, sound, microphone)
        running = tasks.start(viewer.run())
        if before:
            seat.say(before)
        seat.say(wire.Hello(wire.VERSION, films=False))
        yield running


@pytest.mark.parametrize("image", [page(SIZE), photograph(SIZE)], ids=["text", "photograph"])
async def test_a_still_picture_is_the_screen_bit_for_bit(desktop: Desktop, painter: Painter, xserver: XServer, image: Image.Image) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat):
        await seat.until(lambda: seat.frames)
        painter.paint(image)
        real = await shot(desktop.screen)
        await seat.shows(real)


async def test_the_way_is_told_what_acks_show_and_what_the_viewer_says_of_it(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat):
        await seat.until(lambda: seat.frames)
        seat.say(wire.Signal("an offer"))
        painter.paint(page(SIZE))
        await seat.shows(await shot(desktop.screen))
        await asyncio.to_thread(until, lambda: seat.heeded and seat.signals)
        assert seat.signals == ["an offer"]
        assert seat.heeded
        assert seat.heeded.rate


async def test_who_has_not_said_hello_is_sent_nothing(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    seat = Seat()
    async with Screen(xserver.name) as screen, X11Connection(xserver.name) as connection, Encoders() as encoders, Tasks() as tasks:
        hands = Hands(desktop, connection)
        tasks.start(Viewer(seat, screen, hands, encoders, PERSON, Place(drives=True), Sessions(), 1, QUIET).run())
        seat.say(wire.Ping(1))
        await seat.until(lambda: True)
        assert seat.picture.canvas.width == 0


async def test_who_acknowledges_nothing_is_sent_no_more_and_then_the_latest(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    seat = Seat(acks=False)
    async with watching(desktop, xserver.name, seat):
        await seat.until(lambda: seat.frames == 1)
        painter.paint(photograph(SIZE))
        await seat.until(lambda: seat.frames == 2)
        image = page(SIZE, seed=9)
        painter.paint(image)
        for number in range(3):  # each is answered after whatever was sent before
            seat.say(wire.Ping(number))
        assert seat.frames == 2
        real = await shot(desktop.screen)
        seat.say(wire.Ack(2, 1))
        await seat.shows(real)


async def test_input_arrives_and_is_let_go_when_the_viewer_vanishes(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat) as running:
        await seat.until(lambda: seat.picture.rights == wire.MAY_ACT | wire.DRIVES)
        seat.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        seat.said.put_nowait(None)
        async with asyncio.timeout(30):
            await running
        await asyncio.to_thread(until_is, program, ["down", "up"])


def until_is(program: Program, kinds: list[str]) -> None:
    until(lambda: program.kinds()[: len(kinds)] == kinds)


async def test_a_watcher_moves_nothing(desktop: Desktop, painter: Painter, program: Program, xserver: XServer) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat, caller=GUEST) as running:
        await seat.until(lambda: seat.frames)
        assert seat.picture.rights == 0
        for message in (wire.Key(ord("k"), down=True), wire.Point(9, 9, 1), wire.Wheel(0, 500), wire.Text("x"), wire.Copied("y")):
            seat.say(message)
        seat.said.put_nowait(None)
        async with asyncio.timeout(30):
            await running
        assert program.events == []
        assert await desktop.clipboard.read() == ""


async def test_what_is_no_message_ends_the_viewer(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat) as running:
        seat.said.put_nowait(b"\xff")
        with pytest.raises(BadMessage):
            await asyncio.wait_for(running, 30)


async def test_an_x_server_that_comes_back_is_shown_to_the_same_viewer(desktop: Desktop, xserver: XServer) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat):
        await seat.until(lambda: seat.frames)
        xserver.kill()
        await seat.until(lambda: not seat.picture.running)
        xserver.start(xserver.name)
        await seat.until(lambda: seat.picture.running)
        real = await shot(desktop.screen)
        await seat.shows(real)


async def test_who_does_not_drive_moves_nothing_and_who_loses_control_lets_go(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    seat, lease = Seat(), Place(drives=False)
    async with watching(desktop, xserver.name, seat, lease=lease):
        await seat.until(lambda: seat.picture.rights == wire.MAY_ACT)
        seat.say(wire.Point(20, 20, 0))
        seat.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until, lambda: lease.asked == 1)
        lease.set(drives=True)
        await seat.until(lambda: seat.picture.rights == wire.MAY_ACT | wire.DRIVES)
        seat.say(wire.Key(ord("j"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        lease.set(drives=False)
        await asyncio.to_thread(until_is, program, ["down", "up"])
        assert [event[1] for event in program.events] == [ord("j"), ord("j")]


def told(numbers: list[int], number: int) -> bool:
    return number in numbers


async def test_in_private_a_viewer_that_may_not_see_is_shown_nothing_until_it_ends(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    seat, lease = Seat(), Place(drives=False)
    async with watching(desktop, xserver.name, seat, caller=GUEST, lease=lease):
        await seat.begins()
        lease.show(sees=False)
        await seat.until(lambda: seat.picture.rights == wire.HIDDEN)
        frames = seat.frames
        await desktop.pointer.move(123, 234)
        await desktop.clipboard.write("hunter2")
        painter.paint(Image.new("RGB", (64, 64), (255, 0, 0)))
        for pongs in range(1, 4):
            seat.say(wire.Ping(pongs))
            await seat.until(partial(told, seat.pongs, pongs))
        assert (seat.frames, seat.picture.copied) == (frames, None)
        lease.show(sees=True)
        await seat.until(lambda: seat.picture.rights == 0)
        await seat.shows(await shot(desktop.screen))
        assert seat.picture.copied is None, "it was copied in private"


async def test_who_watches_sees_the_pointer_move(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    seat = Seat()
    async with watching(desktop, xserver.name, seat, caller=GUEST, lease=Place(drives=False)):
        await seat.until(lambda: seat.picture.pointer is not None)
        await desktop.pointer.move(123, 234)
        await seat.until(lambda: seat.picture.pointer == (123, 234))


async def test_what_is_copied_is_told_to_who_may_act_alone(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    seat, guest = Seat(), Seat()
    async with watching(desktop, xserver.name, seat), watching(desktop, xserver.name, guest, caller=GUEST):
        for each in (seat, guest):
            await each.begins()
        await desktop.clipboard.write("copied on the desktop")
        await seat.until(lambda: seat.picture.copied == "copied on the desktop")
        assert guest.picture.copied is None


async def test_who_listens_hears_unless_the_screen_is_hidden(desktop: Desktop, xserver: XServer) -> None:
    seat, kept_out, hidden = Seat(), Seat(), Place(drives=False)
    hidden.show(sees=False)
    played = Played()
    async with (
        Broadcast(played) as sound,
        watching(desktop, xserver.name, kept_out, lease=hidden, sound=sound),
        watching(desktop, xserver.name, seat, sound=sound),
    ):
        for each in (kept_out, seat):
            each.say(wire.Listens(listens=True))
        await eventually(lambda: len(sound._ears) == 2)
        played.play(*[TONE] * 10)
        await seat.until(lambda: seat.picture.heard)
        await eventually(lambda: not played.left)
        assert kept_out.picture.heard is None


async def test_a_slow_viewer_holds_up_no_other(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    slow, quick = Seat(acks=False), Seat()
    name = xserver.name
    async with Screen(name) as screen, X11Connection(name) as connection, Encoders() as encoders, Tasks() as tasks:
        sessions = Sessions()
        for number, each in enumerate((slow, quick)):
            hands = Hands(desktop, connection)
            tasks.start(Viewer(each, screen, hands, encoders, PERSON, Place(drives=True), sessions, number, QUIET).run())
            each.say(wire.Hello(wire.VERSION, films=False))
            await each.begins()
        for number in range(5):
            painter.paint(photograph(SIZE, number))
            real = await shot(desktop.screen)
            await quick.shows(real)
        assert slow.frames < quick.frames


async def test_who_comes_back_is_sent_only_what_differs(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    first, again, sessions = Seat(), Seat(), Sessions()
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
    first, again, sessions = Seat(), Seat(), Sessions()
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
    first, again, sessions = Seat(), Seat(), Sessions()
    painter.paint(photograph(SIZE))
    async with watching(desktop, xserver.name, first, sessions=sessions):
        await first.shows(await shot(desktop.screen))
    async with watching(desktop, xserver.name, again, caller=GUEST, sessions=sessions, session=2, before=before):
        await again.shows(await shot(desktop.screen))
