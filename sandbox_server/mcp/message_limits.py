"""What one message of a server may be, before it is parsed: its program is the agent's, and may send anything."""

MAX_MESSAGE = 32 << 20
"""Bytes of one message: as much as a result of the sandbox's own tools may have."""
MAX_PARTS = 1_000_000
"""Lists and objects in one message: each takes some twenty times its text once it is parsed."""
MAX_REASON = 1000
"""Characters of a server's own words in a failure."""


class MessageLimitError(ValueError):
    """A message is more than a server may send; the text says what of it."""


class MessageSize:
    """The size of one message as its pieces arrive."""

    def __init__(self) -> None:
        self._size = self._parts = 0

    def take(self, piece: bytes) -> None:
        """Add a piece. Raises TooMuchError."""
        self._size += len(piece)
        if self._size > MAX_MESSAGE:
            raise MessageLimitError(f"it sent a message of more than {MAX_MESSAGE} bytes")
        self._parts += piece.count(b"[") + piece.count(b"{")
        if self._parts > MAX_PARTS:
            raise MessageLimitError(f"it sent a message of more than {MAX_PARTS} lists and objects")


def in_short(words: object) -> str:
    """A server's own words as a part of one of our sentences: without control characters, and not too many."""
    text = str(words)
    return without_controls(text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}...")


def without_controls(text: str) -> str:
    """A text that moves nothing in a terminal, and hides nothing in a page."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)
