"""The keyboard: keys pressed and released by XTest, text typed key by key."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from sandbox_server.drivers.x11 import keysyms
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.keymap import Keymap, Stroke
from sandbox_server.timeouts import scaled

SHIFT = 0xFFE1
CAPS_LOCK = 0xFFE5
REMAP_SECONDS = scaled(0.15)
"""Seconds for programs to read typed keys before a spare key is remapped."""
LEARN_SECONDS = scaled(0.02)
"""Seconds for programs to read a new keyboard mapping before it is used."""


class Keyboard:
    """Presses keys of the display behind `connection`. `held` has the keycodes that may be down.

    A key stays in it until its release is sent, so that a cancelled call loses none.
    """

    def __init__(self, connection: X11Connection) -> None:
        self._connection = connection
        self._keymap: Keymap | None = None
        self._changes = 0
        self.held: list[int] = []

    def take(self, arrived: Any) -> None:
        """Handle a MappingNotify event: this server, the VNC server or another client has changed the mapping."""
        if arrived.type == X.MappingNotify:
            self._changes += 1
            self._keymap = None

    def forget(self) -> None:
        """Reset the state for a new X server."""
        self._keymap = None
        self.held.clear()

    async def stroke(self, keysym: int) -> Stroke:
        """Return how to type a keysym now. One without a key gets a spare key."""
        [found] = await self._strokes([keysym])
        return found

    async def press(self, keysym: int) -> None:
        """Press a key and hold it. One that is down stays down."""
        [stroke] = await self._strokes([keysym])
        codes = [code for code in await self._with_shift(stroke) if code not in self.held]
        try:
            await self._send([(X.KeyPress, code) for code in codes])
        finally:  # it may be down, whatever became of the call
            self.held += codes

    async def release(self, keysym: int) -> None:
        """Release a key, whoever pressed it."""
        [stroke] = await self._strokes([keysym])
        codes = [code for code in reversed(await self._with_shift(stroke)) if code in self.held] or [stroke.code]
        await self._send([(X.KeyRelease, code) for code in codes])
        self.held = [code for code in self.held if code not in codes]

    async def release_all(self) -> None:
        """Release all held keys, the last first."""
        if held := list(self.held):
            await self._send([(X.KeyRelease, code) for code in reversed(held)])
            self.held = [code for code in self.held if code not in held]

    async def tap(self, keys: Sequence[int]) -> None:
        """Press keys one after the other and release them in reverse, as for a hotkey. Held keys stay held."""
        strokes = await self._strokes(keys)
        shift = await self._shift_code()
        codes = list(dict.fromkeys(code for stroke in strokes for code in ([shift] if stroke.shift else []) + [stroke.code]))
        codes = [code for code in codes if code not in self.held]
        await self._send([(X.KeyPress, code) for code in codes] + [(X.KeyRelease, code) for code in reversed(codes)])

    async def has_keys_for(self, text: str) -> bool:
        """Whether the keyboard can type this text without spare keys."""
        keymap = await self._mapping()
        return all(keymap.stroke(keysyms.of_character(character)) for character in text)

    async def type(self, text: str) -> None:
        """Type text key by key. Characters without a key get spare keys."""
        locked = await self._connection.call(_caps_locked)
        if locked:
            await self.tap([CAPS_LOCK])
        keymap = await self._mapping()
        for part in _parts(text, keymap.spare):
            strokes = await self._strokes([keysyms.of_character(character) for character in part])
            await self._send(list(_typed(strokes, await self._shift_code())))
        if locked:
            await self.tap([CAPS_LOCK])

    async def _strokes(self, wanted: Sequence[int]) -> list[Stroke]:
        """Return how to type each keysym, after setting up spare keys where needed."""
        keymap = await self._mapping()
        missing = [keysym for keysym in dict.fromkeys(wanted) if keymap.stroke(keysym) is None]
        if missing:
            if len(missing) > keymap.spare_unused:
                await asyncio.sleep(REMAP_SECONDS)
            assigned = {keymap.assign(keysym): keysym for keysym in missing}
            await self._connection.call(lambda display: _remap(display, assigned))
            await asyncio.sleep(LEARN_SECONDS)
        found = [keymap.stroke(keysym) for keysym in wanted]
        return [stroke for stroke in found if stroke is not None]

    async def _with_shift(self, stroke: Stroke) -> list[int]:
        return [await self._shift_code(), stroke.code] if stroke.shift else [stroke.code]

    async def _shift_code(self) -> int:
        found = (await self._mapping()).stroke(SHIFT)
        return found.code if found else 0

    async def _mapping(self) -> Keymap:
        keymap = self._keymap
        while keymap is None:
            before = self._changes
            keymap = await self._connection.call(_read_keymap)
            if before == self._changes:
                self._keymap = keymap
        return keymap

    async def _send(self, events: Sequence[tuple[int, int]]) -> None:
        await self._connection.call(lambda display: _fake(display, events))


def _read_keymap(display: Display) -> Keymap:
    first, last = display.display.info.min_keycode, display.display.info.max_keycode
    return Keymap(first, [list(row) for row in display.get_keyboard_mapping(first, last - first + 1)])


def _remap(display: Display, assigned: dict[int, int]) -> None:
    for code, keysym in assigned.items():
        display.change_keyboard_mapping(code, [[keysym, keysym]])
    display.sync()


def _fake(display: Display, events: Sequence[tuple[int, int]]) -> None:
    for kind, code in events:
        xtest.fake_input(display, kind, code)
    display.sync()


def _caps_locked(display: Display) -> bool:
    return bool(display.screen().root.query_pointer().mask & X.LockMask)


def _typed(strokes: Sequence[Stroke], shift: int) -> Iterator[tuple[int, int]]:
    """Yield the events that type the strokes. Shift is held across strokes that need it."""
    shifted = False
    for stroke in strokes:
        if stroke.shift != shifted:
            yield X.KeyPress if stroke.shift else X.KeyRelease, shift
            shifted = stroke.shift
        yield X.KeyPress, stroke.code
        yield X.KeyRelease, stroke.code
    if shifted:
        yield X.KeyRelease, shift


def _parts(text: str, distinct: int) -> Iterator[str]:
    """Split text into parts with at most `distinct` different characters, so that each spare key means only one of them."""
    part: list[str] = []
    seen: set[str] = set()
    for character in text.replace("\r\n", "\n"):
        if character not in seen and len(seen) == max(1, distinct):
            yield "".join(part)
            part, seen = [], set()
        seen.add(character)
        part.append(character)
    if part:
        yield "".join(part)
