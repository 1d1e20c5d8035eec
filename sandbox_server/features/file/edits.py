"""Edits on text, with the messages that agents know (the editor tool of OpenHands).

A file in which every line ends with a carriage return is edited without them, and gets them back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox_server.features.file.text_encoding import split_lines

SNIPPET_LINES = 4
"""Lines shown before and after an edit."""
MAX_SHOWN = 200_000
"""Limit of characters of a file that are shown at once."""

type Mode = Literal["ALL", "FIRST", "LAST"]


class BadEdit(Exception):
    """An edit that is not possible. The message says why."""


@dataclass(frozen=True, slots=True)
class Edited:
    """New text, and the part of it to show."""

    text: str
    first: int
    """Number of the first line to show, from 1."""
    count: int


def replace(text: str, old: str, new: str, mode: Mode | None, path: str) -> Edited:
    """Replace a text that must be unique, or as `mode` says."""
    if not old:
        raise BadEdit("Parameter `old_str` is empty: there is nothing to look for.")
    if old == new:
        raise BadEdit(invalid("new_str", new, "No replacement was performed. `new_str` and `old_str` must be different."))
    found = _positions(text, old)
    if not found:
        raise BadEdit(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if len(found) > 1 and mode is None:
        lines = sorted({_line_of(text, at) for at in found})
        raise BadEdit(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines {lines}. Please ensure it is unique."
        )
    chosen = found if mode == "ALL" else found[-1:] if mode == "LAST" else found[:1]
    first = _line_of(text, chosen[0])
    rest = text[chosen[0] :].replace(old, new, len(chosen))
    start = max(1, first - SNIPPET_LINES)
    return Edited(text[: chosen[0]] + rest, start, first - start + 1 + new.count("\n") + SNIPPET_LINES)


def insert(text: str, new: str, after: int) -> Edited:
    """Insert lines after a line; 0 means before the first. A missing newline at the end of the file stays missing."""
    lines = split_lines(text)
    if not 0 <= after <= len(lines):
        raise BadEdit(invalid("insert_line", after, f"It should be within the range of allowed values: {[0, len(lines)]}"))
    if after == len(lines) and lines and not lines[-1].endswith("\n"):
        edited = f"{text}\n{new}"
    else:
        edited = "".join([*lines[:after], f"{new}\n", *lines[after:]])
    start = max(1, after - SNIPPET_LINES + 1)
    return Edited(edited, start, after - start + 1 + new.count("\n") + 1 + SNIPPET_LINES)


def view(text: str, view_range: Sequence[int], path: str) -> str:
    """Show a file or a range of its lines, numbered."""
    lines = split_lines(text)
    if not view_range:
        return number_lines(lines or [""], path)
    first, last, note = _range(view_range, len(lines))
    return note + number_lines(lines[first - 1 : last], path, first)


def number_lines(lines: Sequence[str], what: str, first: int = 1) -> str:
    """Number lines as `cat -n` does. Long output is cut with a note."""
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines, first):
        size += len(line)
        if size > MAX_SHOWN and shown:
            shown.append(f"NOTE: the lines from {number} on are not shown; use `view_range` to see them.")
            break
        shown.append(f"{number:6}\t{line.removesuffix('\n')}")
    return f"Here's the result of running `cat -n` on {what}:\n" + "\n".join(shown) + "\n"


def snippet(edited: Edited, what: str) -> str:
    """Show the lines around an edit."""
    lines = split_lines(edited.text)
    return number_lines(lines[edited.first - 1 : edited.first - 1 + edited.count], what, edited.first)


def invalid(parameter: str, value: object, why: str) -> str:
    """Format the error for a parameter's value."""
    return f"Invalid `{parameter}` parameter: {value}. {why}"


def has_returns(text: str) -> bool:
    """Whether every line of a text ends with a carriage return."""
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def without_returns(text: str) -> str:
    """Remove the carriage returns from the ends of lines."""
    return text.replace("\r\n", "\n")


def with_returns(text: str) -> str:
    """Add them again."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _range(given: Sequence[int], total: int) -> tuple[int, int, str]:
    if len(given) != 2:
        raise BadEdit(invalid("view_range", list(given), "It should be a list of two integers."))
    first, last = given
    if not 1 <= first <= total:
        raise BadEdit(
            invalid(
                "view_range", list(given), f"Its first element `{first}` should be within the range of lines of the file: {[1, total]}."
            )
        )
    if last == -1:
        return first, total, ""
    if last < first:
        why = f"Its second element `{last}` should be greater than or equal to the first element `{first}`."
        raise BadEdit(invalid("view_range", list(given), why))
    return first, min(last, total), f"NOTE: the file has only {total} lines.\n" if last > total else ""


def _positions(text: str, wanted: str) -> list[int]:
    found, at = [], text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
