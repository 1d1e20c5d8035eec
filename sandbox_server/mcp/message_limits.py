"""Limits for messages of upstream servers, checked before parsing: an upstream server may be hostile."""

MAX_MESSAGE = 32 << 20
"""Bytes of one message: the same as for a result of the API's tools."""
MAX_PARTS = 1_000_000
"""Lists and objects in one message: parsed, each takes about twenty times its text."""
MAX_REASON = 1000
"""Characters of a server's message in an error."""


class MessageLimitError(ValueError):
    """A message exceeds a limit; the text says which."""


class MessageSize:
    """Counts the size of one message as its chunks arrive."""

    def __init__(self) -> None:
        self._size = self._parts = 0

    def take(self, chunk: bytes) -> None:
        """Add a chunk. Raises MessageLimitError."""
        self._size += len(chunk)
        if self._size > MAX_MESSAGE:
            raise MessageLimitError(f"it sent a message of more than {MAX_MESSAGE} bytes")
        self._parts += chunk.count(b"[") + chunk.count(b"{")
        if self._parts > MAX_PARTS:
            raise MessageLimitError(f"it sent a message of more than {MAX_PARTS} lists and objects")


def shorten(message: object) -> str:
    """A server's message for an error of ours: truncated, and without control characters."""
    text = str(message)
    return without_controls(text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}...")


def without_controls(text: str) -> str:
    """A text without control and invisible characters, which could forge terminal output or a page."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)
