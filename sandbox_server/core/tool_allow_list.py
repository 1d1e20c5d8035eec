"""What a token allows of tools, browser profiles or lanes: patterns of names, and the header that carries them through the gateway."""

from collections.abc import Iterable

from sandbox_server import patterns

NO_TOOL = "!"
"""Stands for an empty list in the header, which cannot be empty. No tool, profile or lane has this name."""

type AllowList = tuple[str, ...] | None
"""None if the token names none. Then only its scopes decide."""


def header_of(tools: AllowList) -> str:
    """Return the header's value; empty for a token that names none."""
    return "" if tools is None else " ".join(tools) or NO_TOOL


def read_header(value: str | None) -> AllowList:
    """Parse the output of `header_of`."""
    return tuple(value.split()) if value else None


def names_one(tools: AllowList, names: Iterable[str]) -> bool:
    """Whether a list allows what has one of these names."""
    return tools is None or any(_matches_pattern(pattern, name) for name in names for pattern in tools)


def _matches_pattern(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern. An invalid pattern matches nothing."""
    try:
        return patterns.glob(pattern).fullmatch(name) is not None
    except ValueError:
        return False
