"""Filters an untrusted client's requests that the SECURITY extension permits (X11 protocol, appendix B).

The extension lets such a client grab the keyboard by its own window and so read what is typed, read the clipboard, grab
the server, move the pointer, take the focus, and blank the screen. Such requests are replaced by harmless ones in
place: sequence numbers stay the same, and expected replies still come.
"""

import struct
import time

SETUP_BYTES = 20
"""The first bytes of the X server's first answer, up to the client's range of ids."""
HIDDEN = b"BIG-REQUESTS"
"""An extension with another length format. Without it no request exceeds 256 KiB."""
_GET_PROPERTY, _GRAB_POINTER, _GRAB_KEYBOARD, _QUERY_EXTENSION, _NO_OPERATION = 20, 26, 31, 98, 127
_VOID = frozenset({24, 28, 33, 36, 41, 42, 51, 100, 102, 104, 105, 107, 109, 111, 112, 115})
"""ConvertSelection, GrabButton, GrabKey, GrabServer, WarpPointer, SetInputFocus, SetFontPath, ChangeKeyboardMapping,
ChangeKeyboardControl, Bell, ChangePointerControl, SetScreenSaver, ChangeHosts, SetAccessControl, SetCloseDownMode
(which keeps resources of a client that is gone), ForceScreenSaver. None has a reply.
"""
_OPEN_FONT, _CLOSE_FONT, _CREATE_PIXMAP, _FREE_PIXMAP, _CREATE_CURSOR, _CREATE_GLYPH_CURSOR = 45, 46, 53, 54, 93, 94
MAX_CURSOR = 256
"""Limit of pixels of a cursor's side: every screenshot reads the whole cursor."""
MAX_TRACKED = 4096
"""Limit of fonts and large bitmaps of one client. Further ones are not made."""
_CURSORS = b"cursor"
"""The font of the X server's own cursors. Others may have glyphs of any size."""
_GRAB_TIMES = {_GRAB_POINTER: 20, _GRAB_KEYBOARD: 8}
"""The offset of the time in a grab request."""
_KEPT = {_OPEN_FONT: 12, _CLOSE_FONT: 8, _CREATE_PIXMAP: 16, _FREE_PIXMAP: 8, _CREATE_CURSOR: 16, _CREATE_GLYPH_CURSOR: 16}
"""Requests that make cursors, and the minimum length of each."""
_NEVER_SET = 1
"""The atom PRIMARY, which is no property's name: reading it returns nothing."""
_AHEAD_MILLISECONDS = 1 << 30


class ForbiddenRequestError(Exception):
    """A request has a length that this client may not send."""


class UntrustedRequests:
    """The requests of one client.

    `order` is its byte order (`<` or `>`). Ids of its own windows have `base` in the bits outside `mask`. The root
    window has none of these bits set.
    """

    def __init__(self, order: str, base: int, mask: int) -> None:
        self._shown, self._mask = {0, base}, mask
        self._short, self._long = struct.Struct(f"{order}H"), struct.Struct(f"{order}I")
        self._waiting = bytearray()
        self._bitmaps: set[int] = set()
        """Bitmaps that are too large for a cursor."""
        self._fonts: dict[int, bool] = {}
        """The open fonts, and whether each is the cursor font."""

    def take(self, data: bytes) -> bytes:
        """Add bytes from the client, and return the complete requests, changed where needed."""
        self._waiting += data
        start = 0
        while (end := self._end(start)) <= len(self._waiting):
            self._change(start, end)
            start = end
        passed = bytes(self._waiting[:start])
        del self._waiting[:start]
        return passed

    def _end(self, start: int) -> int:
        """Return where the request at `start` ends; beyond the buffer if that is not known yet."""
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
        """Whether a request cannot make a cursor that is too large."""
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
            return True  # its id may be in use, and then nothing changes
        if len(self._bitmaps) < MAX_TRACKED:
            self._bitmaps.add(made)
        return made in self._bitmaps

    def _is_font_kept(self, start: int, made: int) -> bool:
        (length,) = self._short.unpack_from(self._waiting, start + 8)
        if len(self._fonts) < MAX_TRACKED:
            self._fonts.setdefault(made, bytes(self._waiting[start + 12 : start + 12 + length]).lower() == _CURSORS)
        return made in self._fonts

    def _is_shown(self, place: int) -> bool:
        """Whether the window with the id at `place` is the client's own, or the root."""
        (window,) = self._long.unpack_from(self._waiting, place)
        return (window & ~self._mask) in self._shown


def own_numbers(order: str, setup: bytes) -> tuple[int, int]:
    """Return base and mask of the client's ids from the first `SETUP_BYTES` of the X server's first answer."""
    base, mask = struct.unpack_from(f"{order}II", setup, 12)
    return base, mask
