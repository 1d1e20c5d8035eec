"""tmux control mode on the wire: bytes from `tmux -C` in, replies and notifications out.

The protocol is in tmux(1), CONTROL MODE. Bytes of a pane come as `%output`, with everything below a space and the backslash written in
octal. The reply to a command is framed by `%begin` and `%end` or `%error`, which repeat the same time, number and flags; flags of 1 mark
replies to commands of this connection, in order. Lines of a reply are not escaped, so a frame ends only at the exact repetition.
"""

from dataclasses import dataclass

MAX_LINE = 16 << 20
"""Bytes of one line; a longer one means that this is not tmux."""
MAX_REPLY = 64 << 20
"""Bytes of all lines of one reply; the longest that is asked for is a pane with its scrollback."""
_KEYS_PER_COMMAND = 1024


class ControlError(Exception):
    """The stream is not what tmux sends, or frames do not match; the connection is of no more use."""


@dataclass(frozen=True, slots=True)
class PaneOutput:
    """Bytes that a program wrote to its pane."""

    pane: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ControlReply:
    """What a command of this connection answered."""

    lines: tuple[bytes, ...]
    failed: bool


@dataclass(frozen=True, slots=True)
class TmuxNotification:
    """Something that happened in the server, such as `window-renamed` with its arguments."""

    name: str
    arguments: str


type ControlEvent = PaneOutput | ControlReply | TmuxNotification


class ControlParser:
    """Takes what tmux sent, in any pieces."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._size = 0
        self._frame: bytes | None = None
        self._lines: list[bytes] = []
        self._reply_size = 0

    def feed(self, data: bytes) -> list[ControlEvent]:
        """Give the events that are complete with `data`; raises ControlError."""
        first, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(data)
            return []
        lines = rest.split(b"\n")
        last = lines.pop()
        events = [event for line in (b"".join([*self._partial, first]), *lines) if (event := self._line(line))]
        self._partial, self._size = [], 0
        self._keep(last)
        return events

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_LINE:
            raise ControlError(f"a line is longer than {MAX_LINE} bytes")
        if piece:
            self._partial.append(piece)

    def _line(self, line: bytes) -> ControlEvent | None:
        if self._frame is not None:
            return self._framed(line, self._frame)
        if line.startswith(b"%output "):
            pane, _, data = line[8:].partition(b" ")
            return PaneOutput(pane.decode(), unescape(data))
        if line.startswith(b"%begin "):
            self._frame = line[7:]
            return None
        if line.startswith((b"%end ", b"%error ")):
            raise ControlError(f"a reply ends that never began: {line[:80]!r}")
        if line.startswith(b"%"):
            name, _, arguments = line[1:].decode("utf-8", "replace").partition(" ")
            return TmuxNotification(name, arguments)
        return None  # an error of a hook comes as a bare line

    def _framed(self, line: bytes, frame: bytes) -> ControlReply | None:
        failed = line == b"%error " + frame
        if not failed and line != b"%end " + frame:
            self._reply_size += len(line) + 1  # a line without anything takes room too
            if self._reply_size > MAX_REPLY:
                raise ControlError(f"a reply is longer than {MAX_REPLY} bytes")
            self._lines.append(line)
            return None
        ours = frame.endswith(b" 1")
        lines, self._lines, self._frame, self._reply_size = tuple(self._lines), [], None, 0
        return ControlReply(lines, failed) if ours else None


def unescape(data: bytes) -> bytes:
    r"""Undo the octal of `%output`: `\033` is ESC, `\134` a backslash."""
    if b"\\" not in data:
        return data
    return data.decode("unicode_escape").encode("latin-1")


def quote(word: str) -> str:
    """Quote one word of a command: within single quotes tmux takes every byte but the quote and the newline literally.

    Raises ValueError for a newline or NUL, which end a command line.
    """
    if "\n" in word or "\0" in word:
        raise ValueError(f"a tmux command is one line: {word[:80]!r}")
    return "'" + word.replace("'", "'\\''") + "'"


def keys(pane: str, data: bytes) -> list[str]:
    """Give the commands that type bytes into a pane, as they are."""
    pieces = (data[start : start + _KEYS_PER_COMMAND] for start in range(0, len(data), _KEYS_PER_COMMAND))
    return [f"send-keys -t {pane} -H {piece.hex(' ')}" for piece in pieces]
