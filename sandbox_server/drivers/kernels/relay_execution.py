"""One execution in the relay: which outputs are passed on, and how many bytes are dropped.

It runs in the box, in any Python.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
Send = Callable[[Message], None]

PIECE = 1 << 20
"""Limit of characters of a stream's text in one line."""


def weight(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def fitting(text: str, room: int) -> str:
    """Return the longest prefix of a text with at most `room` bytes of whole characters."""
    if weight(text) <= room:
        return text
    encoded = text[:room].encode("utf-8", "surrogatepass")
    end = min(len(encoded), room)
    while end and end < len(encoded) and encoded[end] & 0xC0 == 0x80:  # in the middle of a character
        end -= 1
    return encoded[:end].decode("utf-8", "surrogatepass")


class RelayedExecution:
    """One execution. It ends when the kernel has replied and is idle."""

    number = ""
    """The id of its request."""

    def __init__(self, answer: Send, room: int, count: int) -> None:
        self.idle = asyncio.Event()
        self.dropped = 0
        self._answer = answer
        self._room = room
        self._count = count

    @property
    def full(self) -> bool:
        """Whether nothing more is passed on."""
        return self._room <= 0 or self._count <= 0

    def take(self, kind: str, content: Message) -> None:
        """Take a message that the kernel published during this execution."""
        if kind == "status":
            if content.get("execution_state") == "idle":
                self.idle.set()
        elif kind == "execute_input":
            self._answer({"event": "begun"})
        elif kind == "stream":
            self._write(str(content.get("name")), str(content.get("text", "")))
        elif kind in ("display_data", "execute_result", "update_display_data", "error", "clear_output"):
            self._put({"output_type": kind, **content})

    def drop(self, size: int) -> None:
        """Count bytes that are dropped."""
        self.dropped += size

    def miss(self, topic: bytes, content: bytes) -> None:
        """Count a message that is dropped, by its topic and content."""
        self.drop(_written(content) if b".stream." in topic or topic.startswith(b"stream.") else len(content))

    def show_page(self, reply: Message) -> None:
        """Pass on the pager's text, such as the answer to `print?`."""
        for payload in reply.get("payload", ()):
            if payload.get("source") == "page":
                self._put({"output_type": "display_data", "data": payload.get("data", {}), "metadata": {}})

    def _write(self, name: str, text: str) -> None:
        kept = fitting(text, self._room) if self._count > 0 else ""
        written = weight(kept)
        self.dropped += weight(text) - written
        self._room = self._room - written if kept == text else 0
        self._count -= 1
        for start in range(0, len(kept), PIECE):
            self._answer({"event": "output", "output": {"output_type": "stream", "name": name, "text": kept[start : start + PIECE]}})

    def _put(self, output: Message) -> None:
        size = len(json.dumps(output))
        if size > self._room or self._count <= 0:
            self.drop(size)
            return
        self._room -= size
        self._count -= 1
        self._answer({"event": "output", "output": output})


def _written(content: bytes) -> int:
    """Return the bytes of text in a stream message."""
    try:
        return weight(str(json.loads(content)["text"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return len(content)
