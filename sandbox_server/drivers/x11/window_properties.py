"""Properties of windows, which any program may write: a bounded part of each is read, by one request."""

from typing import Any

from Xlib import X

from sandbox_server.drivers.x11.connection import Display

MAX_BYTES = 4096
"""Limit in bytes of a text. Titles and classes are shown to people."""
MAX_NUMBERS = 256
_NUMBER, _TEXT = 32, 8


def atom(display: Display, name: str) -> int:
    """Return the number of a property's name."""
    return int(display.intern_atom(name))


def numbers(window: Any, name: int, most: int = MAX_NUMBERS) -> list[int]:
    """Return at most `most` first numbers of a property; none if it has another type. Raises BadWindow."""
    found = window.get_property(name, X.AnyPropertyType, 0, most)
    return list(found.value)[:most] if found and found.format == _NUMBER else []


def last_numbers(window: Any, name: int, most: int) -> list[int]:
    """Return at most `most` last numbers of a property. Raises BadWindow."""
    found = window.get_property(name, X.AnyPropertyType, 0, 0)
    begins = max(0, found.bytes_after // 4 - most) if found else 0
    found = found and window.get_property(name, X.AnyPropertyType, begins, most)
    return list(found.value)[:most] if found and found.format == _NUMBER else []


def text(window: Any, name: int) -> bytes:
    """Return the beginning of a text property in any encoding; empty if it has another type. Raises BadWindow."""
    found = window.get_property(name, X.AnyPropertyType, 0, MAX_BYTES // 4)
    return bytes(found.value)[:MAX_BYTES] if found and found.format == _TEXT else b""
