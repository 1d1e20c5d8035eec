"""The parts of a desktop are opened and closed together."""

import asyncio

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import until

pytestmark = pytest.mark.anyio


async def test_what_is_held_is_released_when_it_is_closed(xserver: XServer, program: Program) -> None:
    async with Desktop(xserver.name) as desktop:
        await desktop.pointer.move(20, 20)
        await desktop.keyboard.press(ord("a"))
        await desktop.pointer.press("left")
        assert desktop.holds
        until(lambda: program.kinds() == ["down", "press"])
    until(lambda: program.kinds() == ["down", "press", "release", "up"])


async def test_an_unused_desktop_needs_no_x_server() -> None:
    async with Desktop(":12345") as desktop:
        assert not desktop.holds


@pytest.mark.parametrize("device", ["keyboard", "pointer"])
async def test_what_a_cancelled_release_left_down_is_still_held(desktop: Desktop, device: str) -> None:
    await desktop.keyboard.press(ord("a"))
    await desktop.pointer.press("left")
    released = asyncio.create_task(getattr(desktop, device).release_all())
    await asyncio.sleep(0)
    released.cancel()
    with pytest.raises(asyncio.CancelledError):
        await released
    assert getattr(desktop, device).held
