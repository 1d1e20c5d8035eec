"""The desktop's clipboard, as text."""

from typing import Annotated

from pydantic import Field

from sandbox_server.core import Model, TooLarge, operation
from sandbox_server.drivers.x11.clipboard import X11Clipboard

MAX_TEXT = 1 << 20
"""Bytes of text in UTF-8, either way."""


class ClipboardContent(Model):
    text: Annotated[str, Field(max_length=MAX_TEXT)]
    """Text; empty for nothing. At most 1 MiB in UTF-8."""


class DesktopClipboard:
    """Reads and writes the text that was copied last."""

    tag = "screen"

    def __init__(self, clipboard: X11Clipboard) -> None:
        self._clipboard = clipboard

    @operation("GET /v1/screen/clipboard", scope="control", acts="gui", shows=True)
    async def read_clipboard(self) -> ClipboardContent:
        """Read the text on the clipboard.

        423 while a person has the screen: what they copy may be a password, which the screen does not show. 413 for
        more than 1 MiB.
        """
        return ClipboardContent(text=_bounded(await self._clipboard.read()))

    @operation("PUT /v1/screen/clipboard", scope="control", acts="gui")
    async def write_clipboard(self, request: ClipboardContent) -> None:
        """Put a text on the clipboard, so that the next paste gives it."""
        await self._clipboard.write(_bounded(request.text))


def _bounded(text: str) -> str:
    if (size := len(text.encode("utf-8", "surrogatepass"))) > MAX_TEXT:
        raise TooLarge(f"the text has {size} bytes, and the clipboard takes {MAX_TEXT}")
    return text
