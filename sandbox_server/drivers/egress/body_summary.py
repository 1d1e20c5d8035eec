"""What is told of the body of a request that a person is asked about: its text, or what identifies it."""

import hashlib
from collections.abc import Mapping

MAX_TEXT = 2000
"""Bytes of a body that is told of as text. Of a longer one, size and hash are told."""


def body_summary(body: bytes) -> dict[str, object]:
    """Return a body's `size` in bytes, its `sha256` in hexadecimal digits, and its `text`, which is None where it is long or no text."""
    return {"size": len(body), "sha256": hashlib.sha256(body).hexdigest(), "text": _readable(body)}


def body_detail(summary: Mapping[str, object]) -> str:
    """Return a body as a person is shown it: whole, or by what identifies it. A summary without `sha256` is of an unknown body."""
    if summary["text"]:
        return str(summary["text"])
    if not summary["sha256"]:
        return "(a body that the browser does not tell)"
    return f"({summary['size']} bytes, SHA-256 {summary['sha256']})"


UNKNOWN_BODY: Mapping[str, object] = {"size": None, "sha256": None, "text": None}
"""The summary of a body of which only that there is one is known."""


def _readable(body: bytes) -> str | None:
    try:
        return body.decode() if len(body) <= MAX_TEXT else None
    except UnicodeDecodeError:
        return None
