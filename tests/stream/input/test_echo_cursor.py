"""A viewer is sent the echo from now on, and nothing of another lease."""

import asyncio

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.input.echo_cursor import EchoCursor
from sandbox_server.stream.input.input_echo import KEYS, LEFT, RIGHT, TYPED, InputEchoLog
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.conftest import Painter
from tests.stream.viewers import GUEST, FakeClient, FakeLease, watching

pytestmark = pytest.mark.anyio


class Clicks:
    """A screen on which somebody clicks; `held` holds up who asks how often."""

    def __init__(self) -> None:
        self.echo_log = InputEchoLog()
        self.held = asyncio.Event()
        self.held.set()
        self.asked = asyncio.Event()

    def click(self) -> None:
        self.echo_log.pressed(LEFT, (1, 1), 0)

    async def count_echoes(self) -> int:
        number = self.echo_log.after(0)[0]
        self.asked.set()
        await self.held.wait()
        return number


async def test_what_was_done_before_it_began_is_not_told() -> None:
    place = Clicks()
    place.click()
    echo = EchoCursor(place)
    assert await echo.new_events() == ()
    place.click()
    assert len(await echo.new_events()) == 1
    assert await echo.new_events() == ()


async def test_what_was_done_under_another_lease_is_not_told_even_if_it_changes_meanwhile() -> None:
    place = Clicks()
    echo = EchoCursor(place)
    await echo.new_events()
    place.click()
    echo.forget()
    place.held.clear()
    asking = asyncio.create_task(echo.new_events())
    await place.asked.wait()
    place.click()
    echo.forget()
    place.held.set()
    assert await asking == ()
    assert await echo.new_events() == ()
    place.click()
    assert len(await echo.new_events()) == 1


async def test_who_watches_is_told_what_the_agent_does_and_not_what_it_types(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=FakeLease(drives=False)):
        await eventually(lambda: client.picture.pointer is not None)
        await desktop.pointer.move(123, 234)
        await eventually(lambda: client.picture.pointer == (123, 234))
        await desktop.pointer.click("right", 1)
        await desktop.keyboard.type("hunter2")
        await desktop.keyboard.tap([0xFFE3, ord("s")])
        await eventually(lambda: any(echoed.what == KEYS for echoed in client.picture.echoes))
        clicked, *typed, hotkey = client.picture.echoes  # what is typed slowly is told more than once
        assert (clicked.what, clicked.at) == (RIGHT, (123, 234))
        assert {(echoed.what, echoed.keys) for echoed in typed} == {(TYPED, "")}
        assert (hotkey.what, hotkey.keys) == (KEYS, "Ctrl+S")


@pytest.mark.parametrize("person", ["drives", "is elsewhere", "is hidden from"])
async def test_what_a_person_does_is_told_to_nobody(desktop: Desktop, painter: Painter, xserver: XServer, person: str) -> None:
    client, lease = FakeClient(), FakeLease(drives=person == "drives")
    lease.programs = False
    lease.sees = person != "is hidden from" or None
    async with watching(desktop, xserver.name, client, caller=GUEST, lease=lease):
        lease.show(sees=person != "is hidden from")
        await eventually(lambda: client.frames or client.picture.rights == wire.HIDDEN)
        await desktop.pointer.click("left", 1)
        await desktop.keyboard.tap([0xFFE3, ord("s")])
        await desktop.pointer.move(45, 67)
        lease.programs = True
        lease.show(sees=True)
        lease.set(drives=False)
        await eventually(lambda: client.picture.pointer == (45, 67))
        client.say(wire.Ping(1))
        await eventually(lambda: client.pongs)
        assert not client.picture.echoes
