"""Patterns of addresses: `*` is anything but a slash, `**` anything, `{a,b}` one of several; all else stands for itself."""

import re

MAX_LENGTH = 2000


class Glob:
    """A pattern; raises ValueError, with what is wrong, for one that is none."""

    def __init__(self, text: str) -> None:
        if not text or len(text) > MAX_LENGTH:
            raise ValueError(f"a pattern has 1 to {MAX_LENGTH} characters")
        self.text = text
        self._expression = re.compile(_expression(text))

    def matches(self, url: str) -> bool:
        """Whether the whole address, without its fragment, is of this pattern."""
        return self._expression.fullmatch(url.partition("#")[0]) is not None

    @property
    def wide(self) -> str:
        """A pattern of the DevTools protocol (`Fetch.RequestPattern`) for at least the same addresses."""
        alternatives = re.sub(r"\{[^{}]*\}", "*", self.text)
        literal = re.sub(r"[?\\]", lambda found: f"\\{found[0]}", alternatives.partition("#")[0])
        return re.sub(r"\*+", "*", literal)


def _expression(text: str) -> str:
    made, inside, position = "", False, 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "*":
            several = text.startswith("*", position)
            position += several
            made += ".*" if several else "[^/]*"
        elif character in "{}":
            if (character == "{") == inside:
                raise ValueError("braces must be balanced, and not within each other")
            inside = not inside
            made += "(?:" if inside else ")"
        else:
            made += "|" if inside and character == "," else re.escape(character)
    if inside:
        raise ValueError("braces must be balanced")
    return made
