"""The screen has its size before any window is on it."""

from pathlib import Path

import pytest
from Xlib import display as xlib

from sandbox_server.boot.window_manager import BACKGROUND, prepare
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.settings import DisplaySettings
from tests.drivers.x11.conftest import XServer, xserver

__all__ = ["xserver"]

pytestmark = pytest.mark.anyio


async def test_the_screen_gets_its_size_and_background(xserver: XServer, tmp_path: Path) -> None:
    prepare(xlib.Display(xserver.name), DisplaySettings(width=1024, height=768), tmp_path / "prepared")
    async with Desktop(xserver.name) as desktop:
        picture, size = await desktop.screen.grab(cursor=False)
    assert size == (1024, 768)
    assert picture.getcolors() == [(1024 * 768, tuple(BACKGROUND.to_bytes(3)))]


async def test_a_size_that_was_set_since_outlives_the_window_manager(xserver: XServer, tmp_path: Path) -> None:
    prepare(xlib.Display(xserver.name), DisplaySettings(width=1024, height=768), tmp_path / "prepared")
    async with Desktop(xserver.name) as desktop:
        await desktop.screen.resize((640, 480))
        prepare(xlib.Display(xserver.name), DisplaySettings(width=1024, height=768), tmp_path / "prepared")
        assert await desktop.screen.size() == (640, 480)
