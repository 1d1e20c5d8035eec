"""Types text into the focused program: by keys if possible, else by a paste."""

import asyncio
from typing import Literal

from sandbox_server.drivers.x11.clipboard import X11Clipboard
from sandbox_server.drivers.x11.keyboard import Keyboard
from sandbox_server.drivers.x11.keysyms import of_character
from sandbox_server.drivers.x11.windows import X11Windows
from sandbox_server.timeouts import scaled

MAX_KEYED = 200
"""Longer texts are pasted, if that is allowed."""
PASTE_SECONDS = scaled(1.5)
"""Seconds for the focused program to request the paste. After that the text is typed."""
AFTER_SECONDS = scaled(0.1)
"""Seconds for further requests: a program may read more than one form."""

_CONTROL = 0xFFE3
_TERMINALS = frozenset({"XTerm", "UXTerm", "URxvt", "Alacritty", "kitty", "st-256color"})
"""Programs that do not paste with Ctrl+V."""

type Means = Literal["keys", "clipboard"]


class TextTyper:
    """Types text with the keyboard and the clipboard."""

    def __init__(self, keyboard: Keyboard, clipboard: X11Clipboard, windows: X11Windows) -> None:
        self._keyboard = keyboard
        self._clipboard = clipboard
        self._windows = windows

    async def type(self, text: str, *, use_clipboard: bool) -> Means:
        """Type a text, and return by which means.

        Texts that are long, have several lines, or have characters without a key are pasted, if `use_clipboard` allows
        it. The clipboard's content is restored.
        """
        if use_clipboard and not await self._suits_keys(text) and await self._paste(text):
            return "clipboard"
        await self._keyboard.type(text)
        return "keys"

    async def _suits_keys(self, text: str) -> bool:
        plain = len(text) <= MAX_KEYED and "\n" not in text and await self._keyboard.has_keys_for(text)
        return plain or await self._windows.focused_program() in _TERMINALS

    async def _paste(self, text: str) -> bool:
        async with self._clipboard.lend(text) as loan:
            await self._keyboard.tap([_CONTROL, of_character("v")])
            pasted = await loan.served(PASTE_SECONDS + len(text) / 1e6)
            if pasted:
                await asyncio.sleep(AFTER_SECONDS)
            return pasted
