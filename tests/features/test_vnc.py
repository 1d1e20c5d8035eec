"""Viewers of the desktop over VNC, with a real server behind."""

import asyncio
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, InvalidArgument, Private, ResourceExhausted, Unavailable
from sandbox_server.core.quota import Quota
from sandbox_server.drivers.vnc.rights import EXTENDED_CLIPBOARD
from sandbox_server.drivers.vnc.server import VncServer
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features import vnc as feature
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.lease_keeper import LeaseKeeper, actor_of
from sandbox_server.features.vnc import Vnc
from tests.controls import driving
from tests.drivers.vnc.conftest import VncProcess, vnc
from tests.drivers.vnc.test_messages import set_encodings
from tests.drivers.vnc.test_rights import KEY_DOWN, KEY_UP
from tests.drivers.x11.conftest import Program, desktop, desktop_manager, program, xserver
from tests.patience import PATIENCE_SECONDS, eventually

__all__ = ["desktop", "desktop_manager", "program", "vnc", "xserver"]

pytestmark = pytest.mark.anyio

PRESSED = struct.pack(">BBHH", 5, 1, 50, 60)
RELEASED = struct.pack(">BBHH", 5, 0, 50, 60)
UPDATE = struct.pack(">BBHHHH", 3, 0, 0, 0, 8, 8)


class Page:
    """A viewer's end of the socket."""

    def __init__(self, *scopes: str, name: str = "person", person: bool = True) -> None:
        self.call = Call(Caller(name, frozenset(scopes), person=person), "request")
        self.seen = bytearray()
        self._sent: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self._arrived = asyncio.Event()

    def say(self, *messages: str | bytes | None) -> None:
        """Send messages; None closes."""
        for message in messages:
            self._sent.put_nowait(message)

    async def sees(self, count: int) -> bytes:
        """Wait until so many bytes have come since the last time, and take them."""
        async with asyncio.timeout(30):
            while len(self.seen) < count:
                self._arrived.clear()
                await self._arrived.wait()
        taken = bytes(self.seen[:count])
        del self.seen[:count]
        return taken

    async def greet(self) -> tuple[int, int]:
        """Begin as every viewer does; the size of the screen."""
        self.say(b"RFB 003.008\n", b"\x01", b"\x00")
        greeting = await self.sees(12 + 2 + 4 + 24)
        width, height = struct.unpack_from(">HH", greeting, 18)
        await self.sees(struct.unpack(">I", greeting[-4:])[0])
        self.say(set_encodings(0, EXTENDED_CLIPBOARD))
        return width, height

    async def receive(self) -> str | bytes | None:
        return await self._sent.get()

    async def send(self, message: str | bytes) -> None:
        assert isinstance(message, bytes)
        self.seen += message
        self._arrived.set()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        raise AssertionError("the caller of the operation closes")


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[LeaseKeeper]:
    async with driving(tmp_path) as found:
        yield found


@pytest.fixture
def viewers(vnc: VncProcess, desktop: Desktop, control: LeaseKeeper) -> Vnc:
    return Vnc(VncServer(vnc.path), desktop, control)


async def test_a_viewer_with_control_acts_and_one_without_does_not(viewers: Vnc, program: Program, control: LeaseKeeper) -> None:
    person, watcher = Page("view", "control"), Page("view")
    async with asyncio.TaskGroup() as open_pages:
        for page in (watcher, person):
            open_pages.create_task(viewers.view_desktop(page, page.call))
            assert await page.greet() == (3840, 2160)
        watcher.say(KEY_DOWN, KEY_UP, PRESSED, UPDATE)
        watcher.seen.clear()
        await watcher.sees(16)  # an answer: what was sent before has been dealt with
        assert control.holding.state == "agent"
        person.say(KEY_DOWN, KEY_UP)

        async def kinds() -> list[str]:
            return program.kinds()

        await eventually(kinds, lambda found: found == ["down", "up"])
        assert program.text == "a"
        assert control.holding.holder == "person", "its first key took control"
        person.say(None)
        watcher.say(None)


async def test_what_was_copied_is_for_those_with_control(viewers: Vnc, desktop: Desktop) -> None:
    person, watcher = Page("view", "control"), Page("view")
    async with asyncio.TaskGroup() as open_pages:
        for page in (watcher, person):
            open_pages.create_task(viewers.view_desktop(page, page.call))
            await page.greet()
            await page.sees(8 + 8)  # the server tells what it can do with a clipboard
        await desktop.clipboard.write("secret 世界")
        provided, length, flags = struct.unpack(">B3xiI", await person.sees(12))
        assert (provided, flags) == (3, 1 << 28 | 1)
        assert length < -4
        assert struct.unpack(">B3xiI", await watcher.sees(12)) == (3, -4, 1 << 27 | 1), "a notice without contents"
        watcher.say(struct.pack(">B3xiI", 6, -4, 1 << 25 | 1), UPDATE)
        assert (await watcher.sees(16))[:4] == b"\x00\x00\x00\x01", "the request for it is left out, the next one is answered"
        person.say(None)
        watcher.say(None)


async def test_who_may_not_see_any_more_is_sent_nothing_and_let_go(viewers: Vnc, control: LeaseKeeper) -> None:
    person, watcher = Page("view", "control"), Page("view", name="watcher")
    watching = asyncio.create_task(viewers.view_desktop(watcher, watcher.call))
    async with asyncio.TaskGroup() as open_pages:
        open_pages.create_task(viewers.view_desktop(person, person.call))
        for page in (watcher, person):
            await page.greet()
        actor = actor_of(person.call.caller)
        await control.change("private", actor, lambda lease, now: machine.hide(lease, actor, now, viewing=True))
        seen = bytes(watcher.seen)
        watcher.say(UPDATE)
        with pytest.raises(Private):
            await asyncio.wait_for(watching, 30)
        assert bytes(watcher.seen) == seen
        person.seen.clear()
        person.say(UPDATE)
        await person.sees(16)
        person.say(None)


async def test_what_is_no_rfb_ends_the_connection(viewers: Vnc) -> None:
    for said, reason in (("text", "binary"), (b"GET / HTTP/1.1\r\n", "not RFB")):
        page = Page("view")
        page.say(said)
        with pytest.raises(InvalidArgument, match=reason):
            await viewers.view_desktop(page, page.call)


async def test_a_server_that_dies_is_said_to_have_and_leaves_nothing_pressed(viewers: Vnc, vnc: VncProcess, program: Program) -> None:
    page = Page("view", "control")
    viewing = asyncio.create_task(viewers.view_desktop(page, page.call))
    await page.greet()
    page.say(KEY_DOWN)

    async def kinds() -> list[str]:
        return program.kinds()

    await eventually(kinds, lambda found: found == ["down"])
    vnc.kill()
    with pytest.raises(Unavailable, match="ended"):
        await viewing
    await eventually(kinds, lambda found: found == ["down", "up"])


async def test_a_program_has_a_share_of_the_places(viewers: Vnc) -> None:
    async with asyncio.TaskGroup() as watching:
        pages = [Page("view", name="agent", person=False) for _ in range(feature.VIEWERS_OF_ONE)]
        for page in pages:
            watching.create_task(viewers.view_desktop(page, page.call))
            await page.greet()
        ticket = Page("view", name="agent#1", person=False)
        with pytest.raises(ResourceExhausted, match="agent has reached its limit"):
            await viewers.view_desktop(ticket, ticket.call)
        for page in pages:
            page.say(None)
    again = Page("view", name="agent", person=False)
    again.say(None)
    await viewers.view_desktop(again, again.call)


async def test_a_person_who_finds_no_place_has_the_one_of_the_program_that_came_first(
    viewers: Vnc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewers, "_places", Quota("places", 2, programs=1, each=1))
    agent, ann, bob = Page("view", name="agent", person=False), Page("view", name="ann"), Page("view", name="bob")
    watching = asyncio.create_task(viewers.view_desktop(agent, agent.call))
    await agent.greet()
    async with asyncio.TaskGroup() as people:
        for page in (ann, bob):
            people.create_task(viewers.view_desktop(page, page.call))
            await page.greet()
        with pytest.raises(ResourceExhausted, match="a person needed your slot"):
            await watching
        for page in (ann, bob):
            page.say(None)


async def test_who_has_no_control_moves_nothing_and_who_loses_it_lets_go(viewers: Vnc, program: Program, control: LeaseKeeper) -> None:
    ann, bob = Page("view", "control", name="ann"), Page("view", "control", name="bob")
    async with asyncio.TaskGroup() as open_pages:
        for page in (ann, bob):
            open_pages.create_task(viewers.view_desktop(page, page.call))
            await page.greet()
        ann.say(KEY_DOWN)

        async def kinds() -> list[str]:
            return program.kinds()

        await eventually(kinds, lambda found: found == ["down"])
        bob.say(KEY_DOWN, KEY_UP, UPDATE)
        bob.seen.clear()
        await bob.sees(16)
        assert (program.kinds(), control.holding.holder) == (["down"], "ann")
        actor = actor_of(ann.call.caller)
        await control.change("released", actor, lambda lease, now: machine.release(lease, actor, now))
        await eventually(kinds, lambda found: found == ["down", "up"])
        ann.say(KEY_UP, None)
        bob.say(None)


async def test_a_pointer_that_passes_by_takes_nothing(viewers: Vnc, desktop: Desktop, control: LeaseKeeper) -> None:
    page, before = Page("view", "control"), await desktop.pointer.position()
    viewing = asyncio.create_task(viewers.view_desktop(page, page.call))
    await page.greet()
    page.say(struct.pack(">BBHH", 5, 0, 77, 88), UPDATE)
    page.seen.clear()
    await page.sees(16)
    assert (control.holding.state, await desktop.pointer.position()) == ("agent", before)
    page.say(PRESSED, UPDATE)
    assert await control.until(lambda holding: holding.holder == "person", PATIENCE_SECONDS)
    page.say(None)
    await viewing


async def test_a_modifier_alone_takes_nothing_and_goes_before_the_key_that_does(
    viewers: Vnc, program: Program, control: LeaseKeeper
) -> None:
    page, of_key = Page("view", "control"), KEY_DOWN[:4]
    control_down, alt_down, alt_up = of_key + b"\0\0\xff\xe3", of_key + b"\0\0\xff\xe9", KEY_UP[:4] + b"\0\0\xff\xe9"
    viewing = asyncio.create_task(viewers.view_desktop(page, page.call))
    await page.greet()
    page.say(control_down, alt_down, alt_up, UPDATE)
    page.seen.clear()
    await page.sees(16)
    assert (program.kinds(), control.holding.state) == ([], "agent")
    page.say(KEY_DOWN)

    async def keysyms() -> list[int]:
        return [event[1] for event in program.events]

    await eventually(keysyms, lambda found: found == [0xFFE3, ord("a")])
    assert control.holding.holder == "person"
    page.say(None)
    await viewing


async def test_a_press_focuses_the_window_that_it_hits(
    viewers: Vnc, desktop: Desktop, desktop_manager: object, program: Program, control: LeaseKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    points: list[tuple[int, int]] = []
    focus_at = desktop.windows.focus_at

    async def noted(x: int, y: int) -> None:
        await focus_at(x, y)
        points.append((x, y))

    monkeypatch.setattr(desktop.windows, "focus_at", noted)
    page = Page("view", "control")
    viewing = asyncio.create_task(viewers.view_desktop(page, page.call))
    await page.greet()
    page.say(PRESSED, RELEASED)

    async def kinds() -> list[str]:
        return program.kinds()

    assert await eventually(kinds, lambda found: len(found) == 2) == ["press", "release"]
    assert points == [(50, 60)]
    page.say(None)
    await viewing


async def test_a_program_drives_over_vnc_until_a_person_takes_over(viewers: Vnc, desktop: Desktop, control: LeaseKeeper) -> None:
    program, person = Page("view", "control", name="key", person=False), actor_of(Caller("ann", person=True))
    viewing = asyncio.create_task(viewers.view_desktop(program, program.call))
    await program.greet()
    program.say(struct.pack(">BBHH", 5, 0, 77, 88))
    await eventually(desktop.pointer.position, lambda at: at == (77, 88))
    await control.change("taken", person, lambda lease, now: machine.take(lease, person, frozenset({"gui"}), now, viewing=True))
    program.seen.clear()
    program.say(struct.pack(">BBHH", 5, 0, 11, 12), UPDATE)
    await program.sees(16)
    assert await desktop.pointer.position() == (77, 88)
    program.say(None)
    await viewing
