"""What a terminal shows at an instant, and the bytes that make another terminal show the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.drivers.tmux_control import unescape

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
_FULL_RESET = "\x1bc"


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

    def place(self, prefix: str = "cursor") -> str:
        """The sequence that puts the cursor where it is."""
        return f"\x1b[{self[f'{prefix}_y'] + 1};{self[f'{prefix}_x'] + 1}H"

    def modes(self) -> str:
        """The sequences that switch on what is on."""
        region = f"\x1b[{self['scroll_region_upper'] + 1};{self['scroll_region_lower'] + 1}r"
        scrolls = region if (self["scroll_region_upper"], self["scroll_region_lower"]) != (0, self.rows - 1) else ""
        on = [sequence for name, sequence in _MODES.items() if self[name]]
        off = [sequence for name, sequence in _OFF.items() if not self[name]]
        return scrolls + "".join([*on, *off])


@dataclass(frozen=True, slots=True)
class Screen:
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
        state = self.state
        parts = [_FULL_RESET]
        if state.alternate:
            parts += [_rows([*self.history, *self.main]), state.place("alternate_saved"), "\x1b[?1049h", "\x1b[H"]
            parts.append(_rows(self.visible))
        else:
            parts.append(_rows(self.lines))
        parts += ["\x1b[m", state.modes(), state.place()]
        return "".join(parts).encode("utf-8", "surrogateescape") + unescape(self.pending)


def _rows(lines: Sequence[bytes]) -> str:
    return "\r\n".join(line.decode("utf-8", "surrogateescape") for line in lines)
