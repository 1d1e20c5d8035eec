"""File names on the wire: any name that the kernel allows, as text that any JSON library accepts.

A name in Linux is bytes. Valid UTF-8 is sent as it is. Any other byte is sent as U+EF80 + (byte - 0x80), as in MirBSD's
OPTU-8, and so is each byte of a real character of that range. Both directions are exact, so a name from a listing opens
that file.
"""

import os
import re
from typing import Final

_OFFSET: Final = 0xEF80 - 0x80
_CARRIERS: Final = re.compile("[\uef80-\uefff]+")
_ESCAPED: Final = re.compile("[\udc80-\udcff]+")


def to_wire(name: str) -> str:
    """Encode a name from `os.listdir`, with surrogate escapes, for the wire."""
    if name.isascii():
        return name
    name = _CARRIERS.sub(lambda found: os.fsencode(found[0]).decode("ascii", "surrogateescape"), name)
    return _ESCAPED.sub(lambda found: "".join(chr(ord(byte) - 0xDC00 + _OFFSET) for byte in found[0]), name)


def from_wire(name: str) -> str:
    """Decode a name for the kernel. Raises ValueError for text that cannot be a file's name."""
    if "\0" in name:
        raise ValueError("a path cannot contain a NUL character")
    if name.isascii():
        return name
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise ValueError("a path cannot contain half of a surrogate pair") from None
    if not _CARRIERS.search(name):
        return encoded.decode()
    raw = b"".join(_byte_or_text(character) for character in name)
    return os.fsdecode(raw)


def _byte_or_text(character: str) -> bytes:
    return bytes([ord(character) - _OFFSET]) if _CARRIERS.match(character) else character.encode()
