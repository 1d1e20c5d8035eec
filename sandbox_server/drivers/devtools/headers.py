"""HTTP header fields as the browser accepts them (RFC 9110, section 5)."""

import re
from collections.abc import Iterable, Mapping

MAX_FIELDS = 100
MAX_BYTES = 32 << 10
"""Limit in bytes of all names and values together."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWNED = frozenset({"connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})
"""Fields that belong to the connection. The browser fails requests that set them."""

type Fields = tuple[tuple[str, str], ...]


def problem(headers: Mapping[str, str], *, request: bool) -> str | None:
    """Return what is wrong with the fields of a request or response; None if nothing is.

    The text contains no values.
    """
    if len(headers) > MAX_FIELDS or sum(len(name) + len(value) for name, value in headers.items()) > MAX_BYTES:
        return f"there may be {MAX_FIELDS} header fields of {MAX_BYTES} bytes together"
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            return f"{name[:100]!r} is not the name of a header field"
        if request and name.lower() in _OWNED:
            return f"{name} is the browser's own"
        if any(character in value for character in "\r\n\0") or not value.isascii():
            return f"the value of {name} holds what no header field may"
    return None


def fields_for_log(headers: Mapping[str, str]) -> tuple[Fields, bool]:
    """Return a message's fields for a log, at most `MAX_BYTES`, and whether some are missing.

    The browser joins fields of one name with newlines.
    """
    fields: list[tuple[str, str]] = []
    size = 0
    for name, value in _single(headers.items()):
        size += len(name) + len(value)
        if size > MAX_BYTES:
            return tuple(fields), True
        fields.append((name, value))
    return tuple(fields), False


def first_value(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    """Return the value of the first field of that name, ignoring case."""
    return next((value for found, value in headers if found.lower() == name), None)


def _single(fields: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for name, value in fields:
        for line in value.split("\n"):
            yield name, line
