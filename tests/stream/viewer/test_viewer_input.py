"""The input of one viewer: it counts as the lease has it, and nothing stays pressed after the viewer has gone."""

import asyncio

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import eventually, until
from tests.stream.conftest import Painter
from tests.stream.viewers import GUEST, FakeClient, FakeLease, watching

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

CONTROL, ALT = 0xFFE3, 0xFFE9


async def test_input_arrives_and_is_let_go_when_the_viewer_vanishes(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client) as running:
        await eventually(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        client.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        client.outgoing.put_nowait(None)
        async with asyncio.timeout(30):
            await running
        await asyncio.to_thread(until_is, program, ["down", "up"])


def until_is(program: Program, kinds: list[str]) -> None:
    until(lambda: program.kinds()[: len(kinds)] == kinds)


async def test_a_watcher_moves_nothing(desktop: Desktop, painter: Painter, program: Program, xserver: XServer) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client, caller=GUEST) as running:
        await eventually(lambda: client.frames)
        assert client.picture.rights == 0
        for message in (
            wire.Key(ord("k"), down=True),
            wire.PointerInput(9, 9, 1),
            wire.Wheel(0, 500),
            wire.TextInput("x"),
            wire.Copied("y"),
        ):
            client.say(message)
        client.outgoing.put_nowait(None)
        async with asyncio.timeout(30):
            await running
        assert program.events == []
        assert await desktop.clipboard.read() == ""


async def test_who_does_not_drive_moves_nothing_and_who_loses_control_lets_go(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client, lease = FakeClient(), FakeLease(drives=False)
    async with watching(desktop, xserver.name, client, lease=lease):
        await eventually(lambda: client.picture.rights == wire.MAY_ACT)
        client.say(wire.PointerInput(20, 20, 0))
        client.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until, lambda: lease.asked == 1)
        lease.set(drives=True)
        await eventually(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        client.say(wire.Key(ord("j"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        lease.set(drives=False)
        await asyncio.to_thread(until_is, program, ["down", "up"])
        assert [event[1] for event in program.events] == [ord("j"), ord("j")]


async def test_a_key_that_is_held_while_the_network_stalls_is_let_go(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client = FakeClient()
    async with watching(desktop, xserver.name, client):
        await eventually(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        for message in (wire.Ping(1), wire.Ping(2), wire.Key(ord("k"), down=True)):
            client.say(message)
        await asyncio.to_thread(until_is, program, ["down", "up"])


async def test_a_modifier_alone_takes_nothing_and_counts_with_what_is_pressed_after_it(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client, lease = FakeClient(), FakeLease(drives=False)
    async with watching(desktop, xserver.name, client, lease=lease):
        await eventually(lambda: client.picture.rights == wire.MAY_ACT)
        for keysym, down in ((CONTROL, True), (ALT, True), (ALT, False)):
            client.say(wire.Key(keysym, down=down))
        client.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until, lambda: lease.asked == 1)
        assert program.events == []
        lease.set(drives=True)
        await eventually(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        client.say(wire.Key(ord("c"), down=True))
        client.say(wire.Key(CONTROL, down=False))
        await asyncio.to_thread(until_is, program, ["down", "down", "up"])
        assert [event[1] for event in program.events] == [CONTROL, ord("c"), CONTROL]
        assert lease.asked == 2


async def test_a_modifier_that_is_let_go_before_control_is_taken_is_not_pressed(
    desktop: Desktop, painter: Painter, program: Program, xserver: XServer
) -> None:
    client, lease = FakeClient(), FakeLease(drives=False)
    async with watching(desktop, xserver.name, client, lease=lease):
        await eventually(lambda: client.picture.rights == wire.MAY_ACT)
        client.say(wire.Key(CONTROL, down=True))
        client.say(wire.Key(ord("k"), down=True))
        await asyncio.to_thread(until, lambda: lease.asked == 1)
        lease.set(drives=True)
        await eventually(lambda: client.picture.rights == wire.MAY_ACT | wire.DRIVES)
        client.say(wire.Key(CONTROL, down=False))
        client.say(wire.Key(ord("c"), down=True))
        await asyncio.to_thread(until_is, program, ["down"])
        assert [event[1] for event in program.events] == [ord("c")]
