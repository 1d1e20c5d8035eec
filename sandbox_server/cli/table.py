"""Lists of objects as tables, for people."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

GAP = "  "
NARROWEST = 8
"""Characters that a column keeps, however narrow the terminal is."""
TALLEST = 6
"""Lines of a cell."""


def rows_in(value: Any) -> list[dict[str, Any]] | None:
    """The rows of what is a table: a list of objects, or objects by name, which then is their first column."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return value
    if isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()):
        return [{"name": name, **item} for name, item in value.items()]
    return None


def table(rows: Sequence[Mapping[str, Any]], width: int = 0) -> str | None:
    """Return rows as a table with a header, folded to the terminal's width; None if it is too narrow for the columns."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if any(row.get(name) is not None for row in rows)]
    if not names:
        return None
    cells = [[name.upper().replace("_", " ") for name in names], *([cell(row.get(name)) for name in names] for row in rows)]
    widths = _fitted([max(map(len, column)) for column in zip(*cells, strict=True)], width or shutil.get_terminal_size().columns)
    if widths is None:
        return None
    return "\n".join(line for row in cells for line in _lines(row, widths))


def cell(value: Any) -> str:
    """One value on one line."""
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return " ".join(cell(inner) for inner in value.values())
    if isinstance(value, list):
        return ", ".join(cell(inner) for inner in value)
    return json.dumps(value)


def _fitted(widths: list[int], room: int) -> list[int] | None:
    """Take from the widest column until all fit."""
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - room
    while excess > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= NARROWEST:
            return None
        widths[widest] -= 1
        excess -= 1
    return widths


def _lines(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    folded = [_folded(text, width) for text, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, folded))):
        texts = (lines[number] if number < len(lines) else "" for lines in folded)
        yield GAP.join(text.ljust(width) for text, width in zip(texts, widths, strict=True)).rstrip()


def _folded(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, width, max_lines=TALLEST, placeholder="…") if len(text) > width else [text]
    return [line[:width] for line in lines]
