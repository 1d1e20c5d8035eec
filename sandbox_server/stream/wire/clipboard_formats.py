"""The formats of a clipboard (text, HTML and PNG), each with its length, as both sides send them."""

import struct
from collections.abc import Mapping

FORMS = ("text/plain", "text/html", "image/png")
"""Formats by their number, from 1. The first two are UTF-8."""

_HEAD = struct.Struct("<BI")
_PICTURE = b"\x89PNG\r\n\x1a\n"


class MalformedMessage(ValueError):
    """The other side sent a malformed message; the text says what is wrong."""


def packed(forms: Mapping[str, bytes]) -> bytes:
    """Serialize the formats that the protocol has."""
    return b"".join(_HEAD.pack(number, len(forms[form])) + forms[form] for number, form in enumerate(FORMS, 1) if form in forms)


def unpacked(body: bytes) -> dict[str, bytes]:
    """Parse what `packed` made. Raises MalformedMessage."""
    found: dict[str, bytes] = {}
    while body:
        if len(body) < _HEAD.size:
            raise MalformedMessage("a form of the clipboard is cut off")
        number, length = _HEAD.unpack_from(body)
        value, body = body[_HEAD.size : _HEAD.size + length], body[_HEAD.size + length :]
        if len(value) < length or not 1 <= number <= len(FORMS) or FORMS[number - 1] in found:
            raise MalformedMessage("a form of the clipboard is cut off, unknown or there twice")
        found[FORMS[number - 1]] = _checked(FORMS[number - 1], value)
    return found


def _checked(form: str, value: bytes) -> bytes:
    if form == "image/png":
        if not value.startswith(_PICTURE):
            raise MalformedMessage("a picture on the clipboard is a PNG")
        return value
    try:
        value.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("a text is UTF-8") from None
    return value
