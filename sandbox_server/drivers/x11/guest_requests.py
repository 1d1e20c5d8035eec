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
_VOID = frozenset({24, 28, 33, 36, 41, 42, 107, 115})
"""ConvertSelection, GrabButton, GrabKey, GrabServer, WarpPointer, SetInputFocus, SetScreenSaver, ForceScreenSaver: none is answered."""
_GRAB_TIMES = {_GRAB_POINTER: 20, _GRAB_KEYBOARD: 8}
"""Where in a request the time is from which the grab is to hold."""
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
        elif kind == _QUERY_EXTENSION and self._waiting[start + 8 : start + 8 + len(HIDDEN)] == HIDDEN:
            self._waiting[start + 8] = ord("-")

    def _is_shown(self, place: int) -> bool:
        """Whether the window of the number there is its own, or the root."""
        (window,) = self._long.unpack_from(self._waiting, place)
        return (window & ~self._mask) in self._shown


def own_numbers(order: str, setup: bytes) -> tuple[int, int]:
    """Base and mask of the client's own numbers, from the start of the X server's first answer, of `SETUP_BYTES`."""
    base, mask = struct.unpack_from(f"{order}II", setup, 12)
    return base, mask
