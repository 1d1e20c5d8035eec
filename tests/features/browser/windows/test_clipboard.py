"""The clipboard by the API."""

import pytest

from sandbox_server.core import TooLarge
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser.windows.clipboard import MAX_TEXT, ClipboardContent, DesktopClipboard

pytestmark = pytest.mark.anyio


async def test_a_text_is_written_and_read(desktop: Desktop) -> None:
    clipboard = DesktopClipboard(desktop.clipboard)
    assert (await clipboard.read_clipboard()).text == ""
    for text in ("grüße 🖖\nzwei", "", "x" * MAX_TEXT):
        await clipboard.write_clipboard(ClipboardContent(text=text))
        assert (await clipboard.read_clipboard()).text == text


async def test_more_than_a_mebibyte_is_refused_either_way(desktop: Desktop) -> None:
    clipboard = DesktopClipboard(desktop.clipboard)
    with pytest.raises(TooLarge, match="1048577"):
        await clipboard.write_clipboard(ClipboardContent(text="ä" * (MAX_TEXT // 2) + "a"))
    await desktop.clipboard.write("a" * (MAX_TEXT + 1))
    with pytest.raises(TooLarge, match="1048577"):
        await clipboard.read_clipboard()
