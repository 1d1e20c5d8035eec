"""Names of lanes, and where a request names one. Standard library only."""

import re

NAME_PATTERN = "[a-z0-9][a-z0-9_-]{0,62}"
MAIN = "main"
"""What is in no lane: it is everything of the browser that no lane has."""
HEADER = "x-lane"
FIELD = "lane"
"""The query parameter."""
_NAME = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether a lane can have this name: small letters, digits, `-` and `_`, at most 63, and not `main`."""
    return text != MAIN and _NAME.fullmatch(text) is not None


def only_lane(patterns: tuple[str, ...] | None) -> str | None:
    """Return the one lane that a token names, if it names one without wildcards."""
    return patterns[0] if patterns and len(patterns) == 1 and is_name(patterns[0]) else None
