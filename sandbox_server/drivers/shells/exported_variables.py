"""The variables that a shell exports, as `export -p` of bash writes them: which of them another sandbox may get."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

OWN = ("TANDEM_", "SHLVL", "PWD", "OLDPWD")
"""How names begin that every shell has of its own."""
_DECLARE = "declare -"
_ESCAPES = {"a": "\a", "b": "\b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class ExportedVariable:
    """One statement that declares a variable; `value` is None where it cannot be told from the statement."""

    name: str
    statement: str
    value: str | None


def declared(text: str) -> Iterator[ExportedVariable]:
    """Yield each variable of what `export -p` wrote; what is no such statement is left out."""
    place = 0
    while place < len(text):
        end = _end_of(text, place)
        statement = text[place:end]
        place = end + 1
        if statement.startswith(_DECLARE):
            options, _, rest = statement.removeprefix(_DECLARE).partition(" ")
            name, equals, value = rest.partition("=")
            if options.isalpha() and name.isidentifier() and name.isascii():
                yield ExportedVariable(name, statement, _value(value) if equals else None)


def _end_of(text: str, place: int) -> int:
    """Return where a statement ends: at the first line end outside of quotes."""
    quote = ""
    while place < len(text):
        letter = text[place]
        if letter == "\\":
            place += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "\n":
            return place
        place += 1
    return len(text)


def _value(quoted: str) -> str | None:
    if quoted.startswith("$'") and quoted.endswith("'") and len(quoted) > 2:
        return _unescaped(quoted[2:-1])
    if len(quoted) < 2 or quoted[0] != '"' or quoted[-1] != '"':
        return None
    letters, escaped = [], False
    for letter in quoted[1:-1]:
        if letter == "\\" and not escaped:
            escaped = True
        else:
            letters.append(letter)
            escaped = False
    return "".join(letters)


def _unescaped(text: str) -> str:
    """Return the text of `$'...'`, as bash writes it where there are control characters: each is a letter or three octal digits."""
    told, place = [], 0
    while place < len(text):
        letter, digits = text[place : place + 2], text[place + 1 : place + 4]
        if letter[0] != "\\":
            told.append(letter[0])
            place += 1
        elif len(digits) == 3 and not digits.strip("01234567"):
            told.append(chr(int(digits, 8)))
            place += 4
        else:
            told.append(_ESCAPES.get(letter[1:], letter[1:]))
            place += 2
    return "".join(told)


def portable(text: str, initial: Mapping[str, str], hides: Callable[[str], bool]) -> str:
    """Return the statements of variables that a shell did not start with, and of which `hides` says that they hold no secret."""
    kept = [
        each.statement
        for each in declared(text)
        if not each.name.startswith(OWN)
        and each.value is not None
        and initial.get(each.name) != each.value
        and not hides(f"{each.name}={each.value}")
    ]
    return "".join(f"{statement}\n" for statement in kept)
