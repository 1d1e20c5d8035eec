"""Whether the screen has changed."""

import asyncio

import pytest
from Xlib import display as xlib

from sandbox_server.drivers.x11.screen_changes import ScreenChanges
from tests.drivers.x11.conftest import XServer
from tests.drivers.x11.test_damage import fill

pytestmark = pytest.mark.anyio


async def test_who_waits_is_told_once_something_was_drawn(xserver: XServer) -> None:
    other = xlib.Display(xserver.name)
    async with ScreenChanges(xserver.name) as changes:
        await changes.look()
        await changes.look()  # the first is of the whole screen
        waiting = asyncio.create_task(changes.changed())
        await asyncio.sleep(0)
        fill(other, (1, 2, 3, 4))
        async with asyncio.timeout(30):
            await waiting
            await changes.look()
        fill(other, (5, 6, 7, 8))
        async with asyncio.timeout(30):
            await changes.changed()
    other.close()
