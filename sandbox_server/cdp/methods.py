"""What every method of the DevTools protocol does, as `methods.txt` says it; what is not in there does nothing for anybody."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, get_args

type Effect = Literal["quiet", "looks", "acts", "lasts", "ends", "extends", "refused"]
"""What they mean stands at the head of the file."""

FILE = Path(__file__).with_name("methods.txt")
_LINE = re.compile(r"(?P<effect>[a-z]+) +(?P<name>[A-Za-z]+\.[A-Za-z]+)(?:\((?P<parameters>[A-Za-z, ]*)\))?")


class Method(NamedTuple):
    """One method."""

    effect: Effect
    parameters: frozenset[str]
    """With which it looks; nothing of those that always act."""


def read(text: str) -> dict[str, Method]:
    """Read the file; raises ValueError for a line that is none, and for a method that is there twice."""
    found: dict[str, Method] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match["effect"] not in get_args(Effect.__value__) or match["name"] in found:
            raise ValueError(f"this says of no method what it does: {line!r}")
        parameters = frozenset((match["parameters"] or "").replace(",", " ").split())
        found[match["name"]] = Method(match["effect"], parameters)  # type: ignore[arg-type] # it was looked up
    return found


METHODS: Mapping[str, Method] = read(FILE.read_text("utf-8"))


def effect_of(method: str) -> Effect | None:
    """What a method does; None for one that nobody has judged."""
    known = METHODS.get(method)
    return known.effect if known else None
