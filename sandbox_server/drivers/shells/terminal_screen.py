"""What a terminal shows at an instant, and the bytes that make another terminal show the same."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.drivers.shells.tmux_control import unescape

_FIELDS = (
    "pane_width",
    "pane_height",
    "history_size",
    "history_limit",
    "cursor_x",
    "cursor_y",
    "alternate_on",
    "alternate_saved_x",
    "alternate_saved_y",
    "cursor_flag",
    "insert_flag",
    "keypad_cursor_flag",
    "keypad_flag",
    "wrap_flag",
    "origin_flag",
    "mouse_standard_flag",
    "mouse_button_flag",
    "mouse_all_flag",
    "mouse_sgr_flag",
    "scroll_region_upper",
    "scroll_region_lower",
)
STATE_FORMAT = ",".join(f"#{{{field}}}" for field in _FIELDS)
"""What to ask tmux for `ScreenState.parse`."""

_MODES = {
    "insert_flag": "\x1b[4h",
    "keypad_cursor_flag": "\x1b[?1h",
    "keypad_flag": "\x1b=",
    "origin_flag": "\x1b[?6h",
    "mouse_standard_flag": "\x1b[?1000h",
    "mouse_button_flag": "\x1b[?1002h",
    "mouse_all_flag": "\x1b[?1003h",
    "mouse_sgr_flag": "\x1b[?1006h",
}
_OFF = {"cursor_flag": "\x1b[?25l", "wrap_flag": "\x1b[?7l"}
_FULL_RESET = "\x1bc\x1b[?1049l\x1bc"
"""Twice, because tmux stays on the alternate screen when it is reset there."""
_NO_COLOURS = "\x1b[m"

_COLOURS = re.compile(rb"\x1b\[([0-9;:]*)m")
_CODE = re.compile(rb"[345]8[;:](?:5[;:][0-9]+|2[;:]:*[0-9]+(?::+[0-9]+)*(?:;[0-9]{1,5};[0-9]{1,5})?)|[0-9:]+")
_KINDS = {
    "text": re.compile(rb"3[0-79]|9[0-7]|38[;:].*"),
    "background": re.compile(rb"4[0-79]|10[0-7]|48[;:].*"),
    "line": re.compile(rb"59|58[;:].*"),
}
MAX_CODES = 64
"""Colours and decorations that are in use at once: tmux knows fewer."""
_DECORATION = re.compile(rb"4(:.*)?|7|9|21|53")
"""What is seen on a blank, too: lines, and colours that are exchanged."""


@dataclass(frozen=True, slots=True)
class ScreenState:
    """Geometry, cursor and modes; columns and rows count from 0. A name is a format variable of tmux(1)."""

    values: dict[str, int]

    @classmethod
    def parse(cls, line: bytes) -> "ScreenState":
        """Read the answer to `STATE_FORMAT`; what is not set is 0."""
        return cls({name: int(value or 0) for name, value in zip(_FIELDS, line.decode().split(","), strict=True)})

    def __getitem__(self, name: str) -> int:
        return self.values[name]

    @property
    def rows(self) -> int:
        """Height of the visible part."""
        return self["pane_height"]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self["pane_width"], self["pane_height"]

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program is on its own screen, without history."""
        return self["alternate_on"] == 1

    def place_saved(self) -> str:
        """The sequence that puts the cursor where the main screen has it while the alternate one is shown."""
        return _place(self["alternate_saved_x"], self["alternate_saved_y"])

    def place(self) -> str:
        """The sequence that puts the cursor where it is, after `modes`: in origin mode the rows count from the scroll region."""
        return _place(self["cursor_x"], self["cursor_y"] - self["scroll_region_upper"] * self["origin_flag"])

    def modes(self) -> str:
        """The sequences that switch on what is on."""
        region = f"\x1b[{self['scroll_region_upper'] + 1};{self['scroll_region_lower'] + 1}r"
        scrolls = region if (self["scroll_region_upper"], self["scroll_region_lower"]) != (0, self.rows - 1) else ""
        on = [sequence for name, sequence in _MODES.items() if self[name]]
        off = [sequence for name, sequence in _OFF.items() if not self[name]]
        return scrolls + "".join([*on, *off])


@dataclass(frozen=True, slots=True)
class TerminalScreen:
    """A picture of a terminal: rows from the oldest in the history to the last visible one, with colours as escape sequences."""

    state: ScreenState
    lines: Sequence[bytes]
    """History and screen; on the alternate screen, the history above the main screen and then the alternate one."""
    main: Sequence[bytes]
    """The main screen while the alternate one is shown; else empty."""
    pending: bytes
    """The beginning of an escape sequence whose end has not come, in octal as tmux writes it."""

    @property
    def full(self) -> bool:
        """Whether older lines may be gone: at its limit, tmux drops a tenth of the history."""
        return self.state["history_size"] >= self.state["history_limit"] * 9 // 10

    @property
    def visible(self) -> Sequence[bytes]:
        """The rows that a viewer sees now."""
        return self.lines[-self.state.rows :]

    @property
    def history(self) -> Sequence[bytes]:
        """The rows above them."""
        return self.lines[: -self.state.rows]

    def restore(self) -> bytes:
        """The bytes that bring a terminal of the same size from any state to this one, scrollback included."""
        state, pen = self.state, _Pen()
        parts = [_FULL_RESET]
        if state.alternate:
            above = _rows(self.history, pen)
            parts += [above, _NO_COLOURS, "\r\n" if above else "", _rows(self.main, _Pen()), state.place_saved()]
            parts += ["\x1b[?1049h\x1b[H", pen.sequence, _rows(self.visible, pen)]
        else:
            parts.append(_rows(self.lines, pen))
        parts += [_NO_COLOURS, state.modes(), state.place()]
        return "".join(parts).encode("utf-8", "surrogateescape") + unescape(self.pending)


def trimmed(lines: Sequence[bytes]) -> Sequence[bytes]:
    """Leave out the blanks at the end of rows, unless they have a colour or a line: tmux gives unused cells as blanks."""
    pen, rows = _Pen(), []
    for line in lines:
        pen.draw(line)
        rows.append(line if pen.marks_blanks else line.rstrip(b" "))
    return rows


class _Pen:
    """The colours in use: they go on from one row to the next. tmux takes decorations back with a 0 only."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def draw(self, line: bytes) -> None:
        """Note what the row changes."""
        for colours in _COLOURS.finditer(line) if b"\x1b" in line else ():
            for code in _CODE.findall(colours[1]) or [b"0"]:
                if code == b"0":
                    self._codes.clear()
                elif len(self._codes) < MAX_CODES:
                    self._codes[next((kind for kind, codes in _KINDS.items() if codes.fullmatch(code)), code.decode())] = code

    @property
    def background(self) -> str:
        """The sequence for the colour of the background; empty for the usual one."""
        code = self._codes.get("background", b"49").decode()
        return "" if code == "49" else f"\x1b[{code}m"

    @property
    def marks_blanks(self) -> bool:
        """Whether a blank is seen."""
        return bool(self.background) or any(_DECORATION.fullmatch(code) for code in self._codes.values())

    @property
    def sequence(self) -> str:
        """The sequence for everything."""
        return f"\x1b[{b';'.join([b'0', *self._codes.values()]).decode()}m"


def _rows(lines: Sequence[bytes], pen: _Pen) -> str:
    """Join rows; a terminal that scrolls would fill the new row with the background in use."""
    parts: list[str] = []
    for line in lines:
        if parts:
            parts.append(f"\x1b[49m\r\n{pen.background}" if pen.background else "\r\n")
        parts.append(line.decode("utf-8", "surrogateescape"))
        pen.draw(line)
    return "".join(parts)


def _place(column: int, row: int) -> str:
    return f"\x1b[{row + 1};{column + 1}H"
