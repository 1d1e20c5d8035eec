"""JSON as the text of a policy: decoded whole, but for its rules, which are decoded one after the other.

Ten thousand rules as decoded JSON take twice the memory of the policy that is made of them.
"""

import json
import re
from collections.abc import Iterator

from sandbox_server.drivers.egress.json_objects import unique_fields

_RULES = "rules"
_SPACE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder(object_pairs_hook=unique_fields)


class JsonArray:
    """An array in a text that was found to be JSON. Each iteration decodes its entries anew, one after the other."""

    def __init__(self, text: str, start: int, length: int) -> None:
        self._text = text
        self._start = start
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[object]:
        reader = _Reader(self._text, self._start)
        for _ in reader.entries("]"):
            yield reader.value()


def decode_policy(text: str) -> object:
    """Decode JSON. The field `rules` of the outermost object is a `JsonArray` if it is an array. Raises ValueError and RecursionError."""
    reader = _Reader(text)
    value = reader.fields() if reader.take("{") else reader.value()
    reader.end()
    return value


class _Reader:
    """Reads a text from a place on."""

    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self._at = at

    def take(self, mark: str) -> bool:
        """Go behind a mark, if that is what comes next."""
        self._skip_space()
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def entries(self, closing: str) -> Iterator[None]:
        """Go from entry to entry and behind the closing mark. The caller reads each entry."""
        more = not self.take(closing)
        while more:
            yield
            more = not self.take(closing)
            if more:
                self._expect(",")

    def value(self) -> object:
        """Decode a value."""
        self._skip_space()
        value, self._at = _decoder.raw_decode(self._text, self._at)
        return value

    def fields(self) -> dict[str, object]:
        """Decode the rest of the outermost object."""
        pairs = []
        for _ in self.entries("}"):
            name = self.value()
            if not isinstance(name, str):
                raise self._wrong("Expecting property name enclosed in double quotes")
            self._expect(":")
            pairs.append((name, self._array() if name == _RULES and self.take("[") else self.value()))
        return unique_fields(pairs)

    def end(self) -> None:
        """Raise ValueError unless the text ends here."""
        self._skip_space()
        if self._at < len(self._text):
            raise self._wrong("Extra data")

    def _array(self) -> JsonArray:
        start, length = self._at, 0
        for _ in self.entries("]"):
            self.value()
            length += 1
        return JsonArray(self._text, start, length)

    def _expect(self, mark: str) -> None:
        if not self.take(mark):
            raise self._wrong(f"Expecting {mark!r} delimiter")

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _wrong(self, what: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(what, self._text, self._at)
