"""Terminal output as plain text: what a person would read, without the sequences that draw it.

The sequences are those of ECMA-48 and xterm. Lines are not wrapped at the width of the terminal.
"""

import re
import unicodedata
from collections.abc import Callable

MOST = 30_000
"""Characters of an output that is truncated, as the contract has it."""
SCREEN_ROWS = 32
"""Rows that the cursor may move back over; rows above have scrolled away."""
MAX_COLUMN = 512
"""Columns that the cursor may go to the right of the text."""
MAX_PENDING = 4096
MAX_WORK = 100_000_000
"""Characters that may be moved about before the sequences are left out instead of being followed."""
_MARKER_ROOM = 80
_SECOND_HALF = "\0"
"""Stands in a row for the second column of a character that takes two; no text holds it."""

_STRING = r"\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
_QUIET = re.compile(
    rf"\x1b\[[0-9;:]*m|\x1b\[\?(?!1049|1047|47\b)[0-9;]*[hl]|{_STRING}|\x1b[()][0-9A-B]|\x1b[=>]|[\x00-\x07\x0b\x0c\x0e-\x1a\x7f]"
)
"""What changes colours and modes only."""
_TOKEN = re.compile(
    rf"(?P<text>[^\x00-\x1f\x7f]+)|(?P<newline>\n)|\x1b\[(?P<arguments>[0-?]*)[ -/]*(?P<final>[@-~])|\x1b\[[0-?]*[ -/]*\Z"
    rf"|{_STRING}|\x1b(?P<escape>[ -/]*[0-~])|(?P<control>[\x00-\x1f\x7f])",
)
_UNFINISHED = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]+)?\Z"
    rb"|[\xc0-\xdf]\Z|[\xe0-\xef][\x80-\xbf]?\Z|[\xf0-\xf7][\x80-\xbf]{0,2}\Z"
)
_ALTERNATE = {"?1049", "?1047", "?47"}


def plain(raw: bytes, rows: int = SCREEN_ROWS) -> str:
    """Give the text that the bytes leave behind: overwritten progress lines once, a closed full-screen program not at all."""
    text = _QUIET.sub("", raw.decode("utf-8", "replace")) if b"\x1b" in raw else raw.decode("utf-8", "replace")
    text = _lines(text)
    if not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        return text
    page = _TextPage(rows)
    for token in _TOKEN.finditer(text):
        page.take(token)
        if page.work > MAX_WORK:
            return "".join(map(_plain_token, _TOKEN.finditer(text)))
    return page.text()


def increment(raw: bytes, *, last: bool) -> tuple[str, int]:
    """Give the text of a piece of a stream as it was sent, and how many bytes it took.

    A carriage return that begins a line anew stays. What may go on in the next piece is left, unless this is the `last`.
    """
    used = len(raw) if last else _finished(raw)
    text = _lines(raw[:used].decode("utf-8", "replace"))
    return "".join(map(_plain_token, _TOKEN.finditer(text))), used


def _finished(raw: bytes) -> int:
    """How many bytes cannot go on in the next piece."""
    oldest = max(0, len(raw) - MAX_PENDING)
    unfinished = _UNFINISHED.search(raw, oldest)
    return unfinished.start() if unfinished else max(oldest, len(raw.rstrip(b"\r")))


def _lines(text: str) -> str:
    """Lines that end with a newline alone: carriage returns before it only go where it goes."""
    *ended, rest = text.split("\n")
    return "\n".join([*(line.rstrip("\r") for line in ended), rest])


def shorten(text: str, most: int = MOST) -> str:
    """Leave the middle out of a text that is too long, and say so there; never more than `most` characters."""
    if len(text) <= most:
        return text
    room = most - _MARKER_ROOM
    marker = f"\n... [{len(text) - room} of {len(text)} characters omitted] ...\n"
    return f"{text[: room - room // 2]}{marker}{text[len(text) - room // 2 :]}"


def _plain_token(token: re.Match[str]) -> str:
    if token["newline"]:
        return "\n"
    return token["text"] or (token["control"] if token["control"] in ("\t", "\r") else "") or ""


def _cells(text: str) -> str:
    """One character for each column: those of East Asian width W and F take two (Unicode, UAX 11)."""
    if text.isascii():
        return text
    return "".join(one + _SECOND_HALF if unicodedata.east_asian_width(one) in "WF" else one for one in text)


def _before(row: str, column: int) -> str:
    """The row up to a column; a character that is cut in two leaves a blank."""
    return row[: column - 1] + " " if row[column : column + 1] == _SECOND_HALF else row[:column]


def _after(row: str, column: int) -> str:
    """The row from a column on; a character that is cut in two leaves a blank."""
    return " " + row[column + 1 :] if row[column : column + 1] == _SECOND_HALF else row[column:]


class _TextPage:
    """Rows of text under a cursor: as much of a terminal as decides which characters are left in the end."""

    def __init__(self, rows: int) -> None:
        self._height = rows
        self._rows = [""]
        self._row = self._column = 0
        self._saved = (0, 0)
        self._main: tuple[list[str], int, int] | None = None
        self.work = 0
        """Characters that were moved about so far."""

    def text(self) -> str:
        """Everything that is left; a full-screen program that is still open comes last."""
        above = [*self._main[0], ""] if self._main else []
        return "\n".join([*above, *self._rows]).replace(_SECOND_HALF, "")

    def take(self, token: re.Match[str]) -> None:
        """Carry out one token."""
        self.work += len(self._rows[self._row])
        if token["text"]:
            self._write(token["text"])
        elif token["newline"]:
            self._column = 0
            self._down()
        elif token["final"]:
            self._sequence(token["final"], token["arguments"])
        elif token["control"]:
            self._control(token["control"])
        elif token["escape"]:
            self._escape(token["escape"])

    @property
    def _top(self) -> int:
        return max(0, len(self._rows) - self._height)

    def _write(self, text: str) -> None:
        row, cells = self._rows[self._row], _cells(text)
        if self._column < len(row):
            self._rows[self._row] = _before(row, self._column) + cells + _after(row, self._column + len(cells))
        else:
            self._rows[self._row] = row.ljust(self._column) + cells
        self._column += len(cells)

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append("")

    def _control(self, control: str) -> None:
        if control == "\r":
            self._column = 0
        elif control == "\b":
            self._column = max(0, self._column - 1)
        elif control == "\t":
            self._write(" " * (8 - self._column % 8) if self._column < len(self._rows[self._row]) else "\t")

    def _escape(self, escape: str) -> None:
        if escape == "7":
            self._saved = (self._row - self._top, self._column)
        elif escape == "8":
            self._go(*self._saved)
        elif escape == "M":
            self._row = max(self._top, self._row - 1)
        elif escape in ("D", "E"):
            self._down()
        elif escape == "c":
            self._erase_screen(2)
            self._go(0, 0)

    def _sequence(self, final: str, arguments: str) -> None:
        if final in "hl" and arguments in _ALTERNATE:
            self._switch(alternate=final == "h")
        elif final in _MOVES and not arguments.startswith(("?", ">", "<", "=")):
            numbers = [int(number[:6]) if number.isdigit() else 0 for number in arguments.split(";")]
            _MOVES[final](self, numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def _switch(self, *, alternate: bool) -> None:
        if alternate and self._main is None:
            self._main = (self._rows, self._row, self._column)
            self._rows, self._row, self._column = [""], 0, 0
        elif not alternate and self._main is not None:
            self._rows, self._row, self._column = self._main
            self._main = None

    def _go(self, row: int, column: int) -> None:
        """Move to a place on the screen, counted from 0."""
        target = self._top + min(max(row, 0), self._height - 1)
        self._rows += [""] * (target + 1 - len(self._rows))
        self._row, self._column = target, min(max(column, 0), max(MAX_COLUMN, len(self._rows[target])))

    def _move(self, rows: int, columns: int) -> None:
        self._go(self._row - self._top + rows, self._column + columns)

    def _erase_line(self, how: int) -> None:
        row = self._rows[self._row]
        kept = {0: _before(row, self._column), 1: _after(row, self._column + 1).rjust(len(row)), 2: ""}
        self._rows[self._row] = kept.get(how, row)

    def _erase_screen(self, how: int) -> None:
        if how == 0:
            self._erase_line(0)
            del self._rows[self._row + 1 :]
        elif how == 1:
            self._rows[self._top : self._row] = [""] * (self._row - self._top)
            self._erase_line(1)
        elif how == 2:
            top = self._top
            self._rows[top:] = [""] * (self._row - top + 1)

    def _delete(self, count: int) -> None:
        row = self._rows[self._row]
        self._rows[self._row] = _before(row, self._column) + _after(row, self._column + count)

    def _insert(self, count: int) -> None:
        row = self._rows[self._row]
        if self._column < len(row):
            self._rows[self._row] = _before(row, self._column) + " " * min(count, MAX_COLUMN) + _after(row, self._column)

    def _blank(self, count: int) -> None:
        row = self._rows[self._row]
        end = min(self._column + count, len(row))
        if self._column < end:
            self._rows[self._row] = _before(row, self._column) + " " * (end - self._column) + _after(row, end)

    def _delete_lines(self, count: int) -> None:
        del self._rows[self._row : self._row + count]
        self._rows += [""] * max(0, self._row + 1 - len(self._rows))

    def _insert_lines(self, count: int) -> None:
        bottom = self._top + self._height
        self._rows[self._row : self._row] = [""] * min(count, self._height)
        del self._rows[bottom:]


_MOVES: dict[str, Callable[[_TextPage, int, int], None]] = {
    "A": lambda page, count, _: page._move(-(count or 1), 0),
    "B": lambda page, count, _: page._move(count or 1, 0),
    "C": lambda page, count, _: page._move(0, count or 1),
    "D": lambda page, count, _: page._move(0, -(count or 1)),
    "E": lambda page, count, _: page._go(page._row - page._top + (count or 1), 0),
    "F": lambda page, count, _: page._go(page._row - page._top - (count or 1), 0),
    "G": lambda page, column, _: page._move(0, (column or 1) - 1 - page._column),
    "`": lambda page, column, _: page._move(0, (column or 1) - 1 - page._column),
    "H": lambda page, row, column: page._go((row or 1) - 1, (column or 1) - 1),
    "f": lambda page, row, column: page._go((row or 1) - 1, (column or 1) - 1),
    "d": lambda page, row, _: page._go((row or 1) - 1, page._column),
    "J": lambda page, how, _: page._erase_screen(how),
    "K": lambda page, how, _: page._erase_line(how),
    "P": lambda page, count, _: page._delete(count or 1),
    "@": lambda page, count, _: page._insert(count or 1),
    "X": lambda page, count, _: page._blank(count or 1),
    "M": lambda page, count, _: page._delete_lines(count or 1),
    "L": lambda page, count, _: page._insert_lines(count or 1),
}
