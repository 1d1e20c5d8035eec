"""Regular expressions for text, or with patterns, that come from outside: RE2, whose time grows with the text and no faster.

It takes RE2's syntax (https://github.com/google/re2/wiki/Syntax): no look-around, no back-references; `\\d`, `\\s`, `\\w` and `\\b` know
ASCII alone; `$` is the very end. Python's own `re` backtracks: `tests/test_pattern_safety.py` holds it to constant patterns that
it can prove linear.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import re2

MAX_MEMORY = 2 << 20
"""Bytes that one pattern may take, with what it keeps of the texts it saw; what needs more is slower, not larger."""
MAX_GLOB = 4096
"""Characters of a glob."""
MAX_STARS = 32
"""Stars of a glob: each one more makes the work on a text larger."""
_STAND_IN = 0x10F800 - 0xD800
"""Offset that maps half a surrogate pair, which UTF-8 cannot encode, to a character of the last private area."""


class Match[AnyStr: (str, bytes)]:
    """A match of a pattern."""

    __slots__ = ("_found", "_text")

    def __init__(self, found: Any, text: AnyStr) -> None:
        self._found = found
        self._text: AnyStr = text

    def __getitem__(self, group: int | str) -> AnyStr | Any:
        """Return the text of a group; None for one that did not match."""
        number = group if isinstance(group, int) else self._found.re.groupindex[group]
        first, last = self._found.span(number)
        return None if first < 0 else self._text[first:last]

    def start(self, group: int = 0) -> int:
        """Return the start of a group; -1 for one that did not match."""
        return int(self._found.start(group))

    def end(self, group: int = 0) -> int:
        """Return the end of a group."""
        return int(self._found.end(group))


class Pattern[AnyStr: (str, bytes)]:
    """A compiled pattern, made by `compile`."""

    __slots__ = ("_engine",)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def match(self, text: AnyStr) -> Match[AnyStr] | None:
        """Match at the beginning."""
        return _match(self._engine.match(_sound(text)), text)

    def fullmatch(self, text: AnyStr) -> Match[AnyStr] | None:
        """Match all of it."""
        return _match(self._engine.fullmatch(_sound(text)), text)

    def search(self, text: AnyStr) -> Match[AnyStr] | None:
        """Give the first match anywhere."""
        return _match(self._engine.search(_sound(text)), text)

    def finditer(self, text: AnyStr) -> Iterator[Match[AnyStr]]:
        """Give all matches, which do not overlap."""
        return (Match(found, text) for found in self._engine.finditer(_sound(text)))

    def sub(self, made: AnyStr | Callable[[Match[AnyStr]], AnyStr], text: AnyStr) -> AnyStr:
        """Put `made` in the place of each match: as it stands, or what it gives for the match."""
        pieces: list[AnyStr] = []
        end = 0
        for found in self.finditer(text):
            pieces += [text[end : found.start()], made(found) if callable(made) else made]
            end = found.end()
        pieces.append(text[end:])
        return text[:0].join(pieces)


def compile[AnyStr: (str, bytes)](pattern: AnyStr) -> Pattern[AnyStr]:  # noqa: A001 # as `re` calls it
    """Compile a pattern. Raises ValueError, with what is wrong, for one that RE2 does not take, or that is too large for it."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    if isinstance(pattern, bytes):
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        return Pattern(re2.compile(_sound(pattern), options))
    except re2.error as error:
        told = error.args[0]
        raise ValueError(told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)) from None


def escape(text: str) -> str:
    """The pattern that matches a text alone."""
    return str(re2.escape(_sound(text)))


@lru_cache(256)
def glob(pattern: str, *, paths: bool = False) -> Pattern[str]:
    """The pattern of a shell's glob, to match all of a name: `*`, `?`, `[ab]`, `[!ab]`; case counts, and a leading dot is as any other.

    With `paths` none of these but `**`, which stands for any number of directories, goes over a slash. Raises ValueError for one that is
    too long, or has too many stars.
    """
    if len(pattern) > MAX_GLOB or stars(pattern) > MAX_STARS:
        raise ValueError(f"a glob may have {MAX_GLOB} characters, {MAX_STARS} of them stars")
    return compile("(?s)" + (_path_expression(pattern) if paths else _name_expression(pattern, ".")))


def stars(pattern: str) -> int:
    """Return the number of stars in a pattern; consecutive ones count once."""
    return sum(character == "*" and before != "*" for before, character in zip(" " + pattern, pattern, strict=False))


def _path_expression(pattern: str) -> str:
    parts = [part for part, after in _with_next(pattern.split("/")) if (part, after) != ("**", "**")]
    made = [_part_expression(part, last=after is None) for part, after in _with_next(parts)]
    return "".join(made)


def _with_next(parts: list[str]) -> Iterator[tuple[str, str | None]]:
    return zip(parts, [*parts[1:], None], strict=True)


def _part_expression(part: str, *, last: bool) -> str:
    if part == "**":
        return ".*" if last else "(?:.+/)?"
    return ("[^/]+" if part == "*" else _name_expression(part, "[^/]")) + ("" if last else "/")


def _name_expression(pattern: str, one: str) -> str:
    made, position = "", 0
    while position < len(pattern):
        character, position = pattern[position], position + 1
        if character == "*":
            made += "" if made.endswith(f"{one}*") else f"{one}*"
        elif character == "?":
            made += one
        elif character == "[" and (end := pattern.find("]", position + 1 + pattern.startswith("!", position))) >= 0:
            made += _set_expression(pattern[position:end], one)
            position = end + 1
        else:
            made += escape(character)
    return made


def _set_expression(members: str, one: str) -> str:
    negated = members.startswith("!")
    members = members[negated:]
    made, position = "/" if negated and one != "." else "", 0
    while position < len(members):
        first, position = members[position], position + 1
        last = first
        if position + 1 < len(members) and members[position] == "-":
            last, position = members[position + 1], position + 2
        if first <= last:
            made += f"\\x{{{ord(_sound(first)):x}}}-\\x{{{ord(_sound(last)):x}}}"
    if not made:
        return one if negated else r"[^\x00-\x{10FFFF}]"
    return f"[{'^' * negated}{made}]"


def _sound[AnyStr: (str, bytes)](text: AnyStr) -> AnyStr:
    """A text of as many characters that UTF-8 has a form for."""
    if isinstance(text, bytes) or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(chr(ord(one) + _STAND_IN) if "\ud800" <= one <= "\udfff" else one for one in text)
    return text


def _match[AnyStr: (str, bytes)](found: Any, text: AnyStr) -> Match[AnyStr] | None:
    return None if found is None else Match(found, text)
