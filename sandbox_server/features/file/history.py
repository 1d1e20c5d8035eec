"""The editor's undo history, limited in number and memory."""

import hashlib
import zlib
from collections import OrderedDict
from dataclasses import dataclass

MAX_EDITS = 10
"""Limit of edits per file that can be undone."""
MAX_BYTES = 32 << 20
"""Limit in bytes of all compressed contents. The files with the oldest edits are dropped first."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: the content before (None if there was no file), and a digest of the content after."""

    before: bytes | None
    after: bytes

    @property
    def content(self) -> bytes | None:
        """The content before the edit."""
        return None if self.before is None else zlib.decompress(self.before)

    def left(self, content: bytes) -> bool:
        """Whether the edit produced this content."""
        return hashlib.sha256(content).digest() == self.after


class History:
    """The last edits of each file."""

    def __init__(self) -> None:
        self._edits: OrderedDict[str, list[Edit]] = OrderedDict()
        self._bytes = 0

    def add(self, path: str, before: bytes | None, after: bytes) -> None:
        """Store an edit."""
        edit = Edit(None if before is None else zlib.compress(before, 1), hashlib.sha256(after).digest())
        edits = self._edits.setdefault(path, [])
        self._edits.move_to_end(path)
        edits.append(edit)
        self._bytes += _size(edit)
        if len(edits) > MAX_EDITS:
            self._bytes -= _size(edits.pop(0))
        while self._bytes > MAX_BYTES and len(self._edits) > 1:
            _, forgotten = self._edits.popitem(last=False)
            self._bytes -= sum(map(_size, forgotten))

    def last(self, path: str) -> Edit | None:
        """Return the edit to undo."""
        edits = self._edits.get(path)
        return edits[-1] if edits else None

    def drop(self, path: str) -> None:
        """Drop the last edit after it was undone."""
        self._bytes -= _size(self._edits[path].pop())
        if not self._edits[path]:
            del self._edits[path]


def _size(edit: Edit) -> int:
    return len(edit.before or b"") + len(edit.after) + 100
