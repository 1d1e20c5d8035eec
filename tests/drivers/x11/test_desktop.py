"""The parts of a desktop are opened and closed together."""

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from tests.conftest import until
from tests.drivers.x11.conftest import Program, XServer

pytestmark = pytest.mark.anyio


async def test_what_is_held_is_released_when_it_is_closed(xserver: XServer, program: Program) -> None:
    async with Desktop(xserver.name) as desktop:
        await desktop.pointer.move(20, 20)
        await desktop.keyboard.press(ord("a"))
        await desktop.pointer.press("left")
        assert desktop.holds
        until(lambda: program.kinds() == ["down", "press"])
    until(lambda: program.kinds() == ["down", "press", "release", "up"])


async def test_one_that_was_never_used_needs_no_x_server() -> None:
    async with Desktop(":12345") as desktop:
        assert not desktop.holds
