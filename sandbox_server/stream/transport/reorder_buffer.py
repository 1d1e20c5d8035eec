"""A reorder buffer: frames in their order, each once, whichever path their parts come by. Sans-io.

A frame is sent over one path, from its first part to its last. If that path fails, it is sent again over the other from its first part on.
So the number of a part within its frame is how many parts came before it by the same path. `web/stream/reorder_buffer.js` does the same.
"""

import struct
from dataclasses import dataclass, field

from sandbox_server.stream import wire
from sandbox_server.stream.wire import MalformedMessage

MAX_HELD_BYTES = 32 << 20
"""More than a viewer is ever sent ahead of its turn."""
_PART_HEAD = struct.Struct("<BBI")


@dataclass(slots=True)
class _Path:
    """How far one path has got."""

    frame: int = 0
    parts: int = 0
    size: list[bytes] = field(default_factory=list)
    """The screen's new size, which belongs to the part after it."""


class ReorderBuffer:
    """Puts the messages of two paths in order. The first frame of a session is 1."""

    def __init__(self) -> None:
        self._paths: dict[int, _Path] = {}
        self._frame = 1
        self._part = 0
        self._held: dict[tuple[int, int], list[bytes]] = {}
        self._held_bytes = 0

    def forget(self, path: int) -> None:
        """Note that a path has ended; another may take its place."""
        self._paths.pop(path, None)

    def take(self, path: int, message: bytes) -> list[bytes]:
        """Take a message of a path, and return the messages whose turn it is. Raises MalformedMessage."""
        if message[:1] == bytes([wire.SIZE]):
            self._paths.setdefault(path, _Path()).size.append(message)
            return []
        if message[:1] != bytes([wire.PART]):
            return [message]
        if len(message) < _PART_HEAD.size:
            raise MalformedMessage("it is cut off")
        _, _, frame = _PART_HEAD.unpack_from(message)
        return self._place(self._paths.setdefault(path, _Path()), frame, message)

    def _place(self, path: _Path, frame: int, message: bytes) -> list[bytes]:
        path.parts = path.parts + 1 if frame == path.frame else 0
        path.frame = frame
        messages, path.size = [*path.size, message], []
        at = (frame, path.parts)
        if at < (self._frame, self._part) or at in self._held:
            return []
        self._hold(at, messages)
        return self._next()

    def _hold(self, at: tuple[int, int], messages: list[bytes]) -> None:
        self._held[at] = messages
        self._held_bytes += sum(map(len, messages))
        if self._held_bytes > MAX_HELD_BYTES:
            raise MalformedMessage("too much is ahead of its turn")

    def _next(self) -> list[bytes]:
        """The held messages whose turn it is."""
        done: list[bytes] = []
        while (messages := self._held.pop((self._frame, self._part), None)) is not None:
            self._held_bytes -= sum(map(len, messages))
            done += messages
            last = messages[-1][1] & wire.LAST
            self._frame, self._part = (self._frame + 1, 0) if last else (self._frame, self._part + 1)
        return done
