"""What an untrusted program asks the X server, without what the SECURITY extension leaves open (X11 protocol, appendix B).

The extension lets such a client grab the keyboard by a window of its own and so read what is typed, read the clipboard and what is pasted,
hold the whole server, move the pointer, take the focus, and darken the screen. Requests for that are made void in place: their number stays
what it was, and an answer that is waited for still comes.
"""

import struct
import time

SETUP_BYTES = 20
"""Of the X server's first answer: up to and with the range of the client's own numbers."""
HIDDEN = b"BIG-REQUESTS"
"""An extension that gives lengths another form; without it no request is longer than 256 KiB."""
_GET_PROPERTY, _GRAB_POINTER, _GRAB_KEYBOARD, _QUERY_EXTENSION, _NO_OPERATION = 20, 26, 31, 98, 127
_VOID = frozenset({24, 28, 33, 36, 41, 42, 51, 100, 102, 104, 105, 107, 109, 111, 112, 115})
"""ConvertSelection, GrabButton, GrabKey, GrabServer, WarpPointer, SetInputFocus, SetFontPath, ChangeKeyboardMapping,
ChangeKeyboardControl, Bell, ChangePointerControl, SetScreenSaver, ChangeHosts, SetAccessControl, SetCloseDownMode, by which a client that
is gone keeps its place, ForceScreenSaver: none is answered."""
_OPEN_FONT, _CLOSE_FONT, _CREATE_PIXMAP, _FREE_PIXMAP, _CREATE_CURSOR, _CREATE_GLYPH_CURSOR = 45, 46, 53, 54, 93, 94
MAX_CURSOR = 256
"""Pixels of a side of a pointer's picture: whoever takes a picture of the screen reads all of it."""
MAX_TRACKED = 4096
"""Fonts and large bitmaps of one client; more of either are not made."""
_CURSORS = b"cursor"
"""The font of the X server's own pointers; others may have letters of any size."""
_GRAB_TIMES = {_GRAB_POINTER: 20, _GRAB_KEYBOARD: 8}
"""Where in a request the time is from which the grab is to hold."""
_KEPT = {_OPEN_FONT: 12, _CLOSE_FONT: 8, _CREATE_PIXMAP: 16, _FREE_PIXMAP: 8, _CREATE_CURSOR: 16, _CREATE_GLYPH_CURSOR: 16}
"""Requests by which pointers' pictures are made, and how long each is at least."""
_NEVER_SET = 1
"""The atom PRIMARY, by which no window has a property: whoever asks for it is told that there is none."""
_AHEAD_MILLISECONDS = 1 << 30


class ForbiddenRequestError(Exception):
    """A request has no length that this client may give."""


class GuestRequests:
    """The requests of one client, in the byte order of `order` (`<` or `>`), whose windows have `base` in the bits outside `mask`.

    In those bits the X server's own, the root window, have nothing.
    """

    def __init__(self, order: str, base: int, mask: int) -> None:
        self._shown, self._mask = {0, base}, mask
        self._short, self._long = struct.Struct(f"{order}H"), struct.Struct(f"{order}I")
        self._waiting = bytearray()
        self._bitmaps: set[int] = set()
        """Those that are too large to be a pointer's picture."""
        self._fonts: dict[int, bool] = {}
        """Those that are open, and whether each is the one of pointers."""

    def take(self, data: bytes) -> bytes:
        """Add what the client sent, and give what of it may go on: whole requests, changed where that is needed."""
        self._waiting += data
        start = 0
        while (end := self._end(start)) <= len(self._waiting):
            self._change(start, end)
            start = end
        passed = bytes(self._waiting[:start])
        del self._waiting[:start]
        return passed

    def _end(self, start: int) -> int:
        """Where the request ends that begins at `start`; beyond what is there when that is not known yet."""
        if len(self._waiting) < start + 4:
            return start + 4
        (words,) = self._short.unpack_from(self._waiting, start + 2)
        if words == 0:
            raise ForbiddenRequestError("it sent a request without a length")
        return start + int(words) * 4

    def _change(self, start: int, end: int) -> None:
        kind = self._waiting[start]
        if kind in _VOID:
            self._waiting[start] = _NO_OPERATION
        elif kind in _GRAB_TIMES and end - start >= _GRAB_TIMES[kind] + 4:
            later = (time.monotonic_ns() // 1_000_000 + _AHEAD_MILLISECONDS) & 0xFFFFFFFF  # by the X server's own clock
            self._long.pack_into(self._waiting, start + _GRAB_TIMES[kind], later)
        elif kind == _GET_PROPERTY and end - start >= 12 and not self._is_shown(start + 4):
            self._long.pack_into(self._waiting, start + 8, _NEVER_SET)
        elif kind in _KEPT and end - start >= _KEPT[kind] and not self._may_make(kind, start):
            self._waiting[start] = _NO_OPERATION
        elif kind == _QUERY_EXTENSION and self._waiting[start + 8 : start + 8 + len(HIDDEN)] == HIDDEN:
            self._waiting[start + 8] = ord("-")

    def _may_make(self, kind: int, start: int) -> bool:
        """Whether what a request makes cannot become a pointer's picture that is too large."""
        (made,) = self._long.unpack_from(self._waiting, start + 4)
        if kind == _CREATE_PIXMAP:
            return self._is_bitmap_kept(start, made)
        if kind == _OPEN_FONT:
            return self._is_font_kept(start, made)
        if kind in (_CLOSE_FONT, _FREE_PIXMAP):
            self._forget(kind, made)
            return True
        source, mask = (self._long.unpack_from(self._waiting, start + place)[0] for place in (8, 12))
        if kind == _CREATE_CURSOR:
            return source not in self._bitmaps
        return self._fonts.get(source, False) and (mask == 0 or self._fonts.get(mask, False))

    def _forget(self, kind: int, gone: int) -> None:
        if kind == _CLOSE_FONT:
            self._fonts.pop(gone, None)
        else:
            self._bitmaps.discard(gone)

    def _is_bitmap_kept(self, start: int, made: int) -> bool:
        width, height = (self._short.unpack_from(self._waiting, start + place)[0] for place in (12, 14))
        if self._waiting[start + 1] != 1 or max(width, height) <= MAX_CURSOR:
            return True  # it may have the number of one that is there, which then stays what it is
        if len(self._bitmaps) < MAX_TRACKED:
            self._bitmaps.add(made)
        return made in self._bitmaps

    def _is_font_kept(self, start: int, made: int) -> bool:
        (length,) = self._short.unpack_from(self._waiting, start + 8)
        if len(self._fonts) < MAX_TRACKED:
            self._fonts.setdefault(made, bytes(self._waiting[start + 12 : start + 12 + length]).lower() == _CURSORS)
        return made in self._fonts

    def _is_shown(self, place: int) -> bool:
        """Whether the window of the number there is its own, or the root."""
        (window,) = self._long.unpack_from(self._waiting, place)
        return (window & ~self._mask) in self._shown


def own_numbers(order: str, setup: bytes) -> tuple[int, int]:
    """Base and mask of the client's own numbers, from the start of the X server's first answer, of `SETUP_BYTES`."""
    base, mask = struct.unpack_from(f"{order}II", setup, 12)
    return base, mask
