"""The tools that a token names, where it names tools: patterns of their names, and the header in which they go through the gateway."""

from collections.abc import Iterable

from sandbox_server import patterns

NO_TOOL = "!"
"""What stands for an empty list in a header, which cannot be empty; no tool has this name."""

type AllowList = tuple[str, ...] | None
"""None where a token does not name its tools: then its scopes alone decide."""


def header_of(tools: AllowList) -> str:
    """The header's value, empty for a token that does not name its tools."""
    return "" if tools is None else " ".join(tools) or NO_TOOL


def read_header(value: str | None) -> AllowList:
    """Read what `header_of` made."""
    return tuple(value.split()) if value else None


def names_one(tools: AllowList, names: Iterable[str]) -> bool:
    """Whether a list lets through what has these names."""
    return tools is None or any(_fits(pattern, name) for name in names for pattern in tools)


def _fits(pattern: str, name: str) -> bool:
    """Whether a name is of a pattern; nothing is of one that cannot be used."""
    try:
        return patterns.glob(pattern).fullmatch(name) is not None
    except ValueError:
        return False
