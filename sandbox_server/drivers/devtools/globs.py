"""Glob patterns for URLs: `*` matches anything but a slash, `**` anything, `{a,b}` one of several.

All else is literal.
"""

from sandbox_server import patterns

MAX_LENGTH = 10_000
_ALTERNATIVES = patterns.compile(r"\{[^{}]*\}")
_SPECIAL = patterns.compile(r"[?\\]")
_STARS = patterns.compile(r"\*+")


class Glob:
    """A glob pattern. Raises ValueError, with the reason, for an invalid one."""

    def __init__(self, text: str) -> None:
        if not text or len(text) > MAX_LENGTH:
            raise ValueError(f"a pattern has 1 to {MAX_LENGTH} characters")
        if patterns.stars(text) > patterns.MAX_STARS:
            raise ValueError(f"a pattern may have at most {patterns.MAX_STARS} stars")
        self.text = text
        self._expression = patterns.compile(_expression(text))

    def matches(self, url: str) -> bool:
        """Whether the whole URL matches, without its fragment."""
        return self.covers(url.partition("#")[0])

    def covers(self, url: str) -> bool:
        """Whether the whole URL matches, with its fragment."""
        return self._expression.fullmatch(url) is not None

    @property
    def wide(self) -> str:
        """A pattern of the DevTools protocol (`Fetch.RequestPattern`) that matches at least the same URLs."""
        alternatives = _ALTERNATIVES.sub("*", self.text)
        literal = _SPECIAL.sub(lambda found: f"\\{found[0]}", alternatives.partition("#")[0])
        return _STARS.sub("*", literal)


def _expression(text: str) -> str:
    made, inside, position = [], False, 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "*":
            several = text.startswith("*", position)
            position += several
            made.append(".*" if several else "[^/]*")
        elif character in "{}":
            if (character == "{") == inside:
                raise ValueError("braces must be balanced and not nested")
            inside = not inside
            made.append("(?:" if inside else ")")
        else:
            made.append("|" if inside and character == "," else patterns.escape(character))
    if inside:
        raise ValueError("braces must be balanced")
    return "".join(made)
