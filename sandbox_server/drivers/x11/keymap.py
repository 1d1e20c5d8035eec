"""The keyboard mapping: which key types which keysym, and spare keys for keysyms without a key."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.drivers.x11.keysyms import UNICODE

SPARE = frozenset({103, 120, 147, 149, *range(154, 158), 159, 161, 162, 168, 177, 178, 183, 184, *range(210, 213), 217, 219, 221, 222, 224})
SPARE |= {*range(226, 231), *range(236, 239), *range(243, 249), *range(250, 256)}
"""Keycodes that Chromium ignores, found by pressing each. Chromium acts on some keycodes whatever their keysym is: 141,
143 and 145 copy, paste and cut, 166 goes back, 181 reloads.
"""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A key, and whether shift has to be held for it."""

    code: int
    shift: bool = False


class Keymap:
    """The keyboard mapping of the X server: for each keycode from `first` its keysyms, plain and shifted first.

    A spare key keeps its keysym as long as others are free, because a program looks the keysym up when it reads the
    event, not when the key was pressed. A key with the same keysym plain and shifted was remapped. If it is a spare
    key, this server did it; any other such key is not used.
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
        """How many keysyms without a key can be typed without remapping a spare key twice."""
        return len(self._spare) + len(self._assigned)

    @property
    def spare_unused(self) -> int:
        """How many spare keys are unused."""
        return len(self._spare)

    def stroke(self, keysym: int) -> Stroke | None:
        """Return how to type a keysym with the current mapping."""
        if keysym in self._strokes:
            return self._strokes[keysym]
        if keysym not in self._assigned:
            return None
        self._assigned.move_to_end(keysym)
        return Stroke(self._assigned[keysym])

    def assign(self, keysym: int) -> int:
        """Assign a spare key to a keysym: an unused one, or the least recently used.

        The caller updates the X server.
        """
        code = self._spare.pop() if self._spare else self._assigned.popitem(last=False)[1]
        self._assigned[keysym] = code
        return code


def _is_printed(keysym: int) -> bool:
    """Whether the keysym is a character beyond ASCII, which spare keys are for."""
    return 0xA0 <= keysym <= 0xFF or keysym >= UNICODE
