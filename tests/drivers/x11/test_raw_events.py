"""Mouse and keyboard, whatever window they are for, and while a program holds the pointer."""

import asyncio
from typing import Any

import pytest
from Xlib import X
from Xlib import display as xlib

from sandbox_server.drivers.x11 import raw_events
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.x11.conftest import XServer

pytestmark = pytest.mark.anyio


class EventLog:
    """What was heard."""

    def __init__(self) -> None:
        self.heard: list[raw_events.Raw] = []
        self._more = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def take(self, display: Display, event: Any) -> None:
        if found := raw_events.read(display, event):
            self.heard.append(found)
            self._loop.call_soon_threadsafe(self._more.set)

    async def kinds(self, wanted: list[int]) -> None:
        async with asyncio.timeout(30):
            while [each.kind for each in self.heard] != wanted:
                self._more.clear()
                await self._more.wait()


async def test_what_is_done_is_heard_even_while_the_pointer_is_grabbed_and_not_after_it_is_unwanted(
    desktop: Desktop, xserver: XServer
) -> None:
    log, other = EventLog(), xlib.Display(xserver.name)
    async with X11Connection(xserver.name, event=log.take) as connection:
        await connection.call(lambda display: raw_events.follow(display, follows=True))
        other.screen().root.grab_pointer(False, X.ButtonPressMask, X.GrabModeAsync, X.GrabModeAsync, X.NONE, X.NONE, X.CurrentTime)
        other.sync()
        await desktop.pointer.move(10, 20)
        await desktop.pointer.click("right", 1)
        await desktop.keyboard.tap([ord("k")])
        wanted = [raw_events.MOVED, raw_events.PRESSED, raw_events.RELEASED, raw_events.KEY_PRESSED, raw_events.KEY_RELEASED]
        await log.kinds(wanted)
        assert [each.detail for each in log.heard[1:3]] == [3, 3]
        assert not any(each.repeated for each in log.heard)
        await connection.call(lambda display: raw_events.follow(display, follows=False))
        await desktop.pointer.click("left", 1)
        await connection.call(lambda display: display.sync())
        await log.kinds(wanted)
    other.close()
