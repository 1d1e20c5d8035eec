"""Properties of windows, which any program may write as it likes: of each one a bounded part is read, by one request."""

from typing import Any

from Xlib import X

MAX_BYTES = 4096
"""Of a text: titles and classes are shown to people."""
MAX_NUMBERS = 256
_NUMBER, _TEXT = 32, 8


def numbers(window: Any, name: int, most: int = MAX_NUMBERS) -> list[int]:
    """The first numbers of a property, `most` of them; none where it is something else. Raises BadWindow."""
    found = window.get_property(name, X.AnyPropertyType, 0, most)
    return list(found.value)[:most] if found and found.format == _NUMBER else []


def last_numbers(window: Any, name: int, most: int) -> list[int]:
    """The last numbers of a property, `most` of them. Raises BadWindow."""
    found = window.get_property(name, X.AnyPropertyType, 0, 0)
    begins = max(0, found.bytes_after // 4 - most) if found else 0
    found = found and window.get_property(name, X.AnyPropertyType, begins, most)
    return list(found.value)[:most] if found and found.format == _NUMBER else []


def text(window: Any, name: int) -> bytes:
    """The beginning of a property that is text, of whatever encoding; nothing where it is something else. Raises BadWindow."""
    found = window.get_property(name, X.AnyPropertyType, 0, MAX_BYTES // 4)
    return bytes(found.value)[:MAX_BYTES] if found and found.format == _TEXT else b""
