"""What our bash says of itself, found in the bytes of its terminal: marks in, taken out of the output.

A mark is `ESC ] 7133 ; nonce ; kind ; fields BEL`, written by `setup/bashrc`. The nonce is random and known to that shell alone, so a
program cannot print a mark that counts: without the nonce it is output like any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast, get_args

MAX_MARK = 8192
"""Bytes of a mark: a path of 4096 and its fields."""
MAX_STATUS = 3
"""Digits of an exit code."""
_CLOSE = b"\x07"

type MarkKind = Literal["line", "start", "nowhere", "unread", "end", "prompt", "ready", "leave"]
"""A line was entered; a command starts; its directory is missing; the command file could not be read; a command ended; the prompt is
about to be shown; the prompt is shown and keys are read; the shell exits as soon as it is told that everything was heard."""
_KINDS = frozenset(get_args(MarkKind.__value__))
_FIELDS = {"end": 3, "prompt": 2}
"""How many fields a kind has; the last may hold the separator."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark."""

    kind: MarkKind
    fields: tuple[str, ...] = ()

    @property
    def token(self) -> str:
        """The command that it is about."""
        return self.fields[0] if self.fields else ""

    @property
    def status(self) -> int:
        """Exit code in an `end` or `prompt`."""
        return int(self.fields[-2])

    @property
    def directory(self) -> str:
        """Working directory in an `end` or `prompt`; control characters in it are question marks."""
        return self.fields[-1]


class MarkParser:
    """Separates one shell's marks from its output, whatever the pieces in which they come."""

    def __init__(self, nonce: str) -> None:
        self._open = b"\x1b]7133;%b;" % nonce.encode()
        self._held = b""

    @property
    def holds(self) -> bool:
        """Whether the possible beginning of a mark is held back."""
        return bool(self._held)

    def feed(self, data: bytes) -> Iterator[bytes | Mark]:
        """Give output and marks in order. The possible beginning of a mark is held back until more comes."""
        data = self._held + data
        start = 0
        while (found := data.find(self._open, start)) >= 0 and (end := data.find(_CLOSE, found)) >= 0:
            mark = _mark(data[found + len(self._open) : end])
            if found > start:
                yield data[start:found]
            if mark:
                yield mark
            start = end + 1
        cut = self._cut(data, start, found)
        self._held = data[cut:]
        if cut > start:
            yield data[start:cut]

    def _cut(self, data: bytes, start: int, found: int) -> int:
        """Where the part begins that may become a mark."""
        if found >= 0:
            return found if len(data) - found < MAX_MARK else len(data)
        escape = data.rfind(b"\x1b", max(start, len(data) - len(self._open) + 1))
        return escape if escape >= 0 and self._open.startswith(data[escape:]) else len(data)


def _mark(body: bytes) -> Mark | None:
    kind, *fields = body.decode("utf-8", "surrogateescape").split(";")
    if kind not in _KINDS:
        return None
    most = _FIELDS.get(kind, 1)
    found = (*fields[: most - 1], ";".join(fields[most - 1 :])) if fields else ()
    if kind in _FIELDS and not (len(found) == most and found[-2].isascii() and found[-2].isdecimal() and len(found[-2]) <= MAX_STATUS):
        return None  # no shell of ours says that
    return Mark(cast("MarkKind", kind), found)
