"""The effect of every DevTools method, read from `methods.txt`. A method that is not listed is refused."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, get_args

type Effect = Literal["quiet", "looks", "acts", "lasts", "ends", "extends", "refused"]
"""The head of `methods.txt` explains the values."""

FILE = Path(__file__).with_name("methods.txt")
_LINE = re.compile(r"(?P<effect>[a-z]+) +(?P<name>[A-Za-z]+\.[A-Za-z]+)(?:\((?P<parameters>[A-Za-z, ]*)\))?")


class Method(NamedTuple):
    """One method and its effect."""

    effect: Effect
    parameters: frozenset[str]
    """The parameters that make a method act which otherwise only looks. Empty for methods that always act."""


def read(text: str) -> dict[str, Method]:
    """Parse the file. Raises ValueError for a malformed line and for a method that is listed twice."""
    found: dict[str, Method] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match["effect"] not in get_args(Effect.__value__) or match["name"] in found:
            raise ValueError(f"malformed line: {line!r}")
        parameters = frozenset((match["parameters"] or "").replace(",", " ").split())
        found[match["name"]] = Method(match["effect"], parameters)  # type: ignore[arg-type] # it was looked up
    return found


METHODS: Mapping[str, Method] = read(FILE.read_text("utf-8"))


def effect_of(method: str) -> Effect | None:
    """Return the effect of a method; None if it is not listed."""
    known = METHODS.get(method)
    return known.effect if known else None
