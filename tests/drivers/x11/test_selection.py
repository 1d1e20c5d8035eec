"""One end of the clipboard offers what it has, and refuses what it has not."""

import pytest

from sandbox_server.drivers.x11.clipboard import Clipboard
from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.x11.conftest import XServer

pytestmark = pytest.mark.anyio


async def test_every_form_is_carried_over(desktop: Desktop, xserver: XServer) -> None:
    contents = {"UTF8_STRING": b"text", "text/html": b"<b>text</b>", "image/png": bytes(range(256)) * 2000}
    async with Clipboard(xserver.name) as other:
        await other._own(contents)
        assert await desktop.clipboard._contents() == contents


async def test_an_owner_that_goes_takes_the_clipboard_with_it(desktop: Desktop, xserver: XServer) -> None:
    async with Clipboard(xserver.name) as other:
        await other.write("text")
        assert await desktop.clipboard.read() == "text"
    assert await desktop.clipboard.read() == ""
