"""What commands have in common."""

import argparse
import sys
from collections.abc import Sequence
from typing import TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a group of commands adds its own."""


def say(text: str) -> None:
    """A line for people: standard output is for what programs read."""
    sys.stderr.write(f"tandem: {text}\n")


def table(rows: Sequence[Sequence[str]]) -> None:
    """Rows for people, the first one with the columns' names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")
