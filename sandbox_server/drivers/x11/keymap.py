"""Which key types which keysym, and the spare keys that can be made to type what no key does."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.drivers.x11.keysyms import UNICODE

SPARE = frozenset({103, 120, 147, 149, *range(154, 158), 159, 161, 162, 168, 177, 178, 183, 184, *range(210, 213), 217, 219, 221, 222, 224})
SPARE |= {*range(226, 231), *range(236, 239), *range(243, 249), *range(250, 256)}
"""Keys that mean nothing to Chromium, found by pressing each. It goes by the number of a key, too: 141, 143 and 145 copy, paste and cut,
166 goes back, 181 loads again, whatever they are said to type."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A key, and whether shift has to be held for it."""

    code: int
    shift: bool = False


class Keymap:
    """The keyboard mapping as the X server gives it: for each keycode from `first`, its keysyms, plain and shifted first.

    Assignments of spare keys stay as long as there are others: a program looks the keysym up when it reads the event, not
    when the key was pressed. A key that types one thing with shift and without was made to by somebody: by us before, if it is
    a spare one; any other is not trusted to type it.
    """

    def __init__(self, first: int, rows: Sequence[Sequence[int]]) -> None:
        self._strokes: dict[int, Stroke] = {}
        self._assigned: OrderedDict[int, int] = OrderedDict()
        self._spare: list[int] = []
        for code, row in enumerate(rows, first):
            meanings = set(row) - {0}
            if not meanings:
                self._spare += [code] if code in SPARE else []
            elif len(meanings) == 1 and _is_printed(keysym := meanings.pop()):
                self._assigned |= {keysym: code} if code in SPARE else {}
            else:
                self._learn(code, row)

    def _learn(self, code: int, row: Sequence[int]) -> None:
        for level, keysym in enumerate(row[:2]):
            if keysym:
                self._strokes.setdefault(keysym, Stroke(code, shift=level == 1))

    @property
    def spare(self) -> int:
        """How many keysyms can be typed beside those that have a key, without changing what another spare key types."""
        return len(self._spare) + len(self._assigned)

    @property
    def spare_unused(self) -> int:
        """How many spare keys have no meaning yet."""
        return len(self._spare)

    def stroke(self, keysym: int) -> Stroke | None:
        """How to type a keysym as the keyboard is now."""
        if keysym in self._strokes:
            return self._strokes[keysym]
        if keysym not in self._assigned:
            return None
        self._assigned.move_to_end(keysym)
        return Stroke(self._assigned[keysym])

    def assign(self, keysym: int) -> int:
        """Give a keysym a spare key: an unused one, or the one that was not used for longest. The caller tells the X server."""
        code = self._spare.pop() if self._spare else self._assigned.popitem(last=False)[1]
        self._assigned[keysym] = code
        return code


def _is_printed(keysym: int) -> bool:
    """Whether the keysym is a character beyond ASCII, which is what spare keys are for."""
    return 0xA0 <= keysym <= 0xFF or keysym >= UNICODE
