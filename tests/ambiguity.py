"""Whether a backtracking engine takes a pattern in a time that grows with the text and no faster: proven from the pattern alone.

A pattern is made into its positions (Glushkov's automaton; Brüggemann-Klein and Wood, "One-Unambiguous Regular Languages", 1998): each
character or class in it, and which may follow which. Where no two that may come next share a character, every wrong turn is seen at the
next character. That has to be so within what repeats; elsewhere a turn is taken once, and there may be a few. So a match from one place is
linear.

A search tries from every place. It is linear where nothing that repeats and may still fail holds a character with which that attempt may
begin: then no place that was passed is a place to begin at. Assertions are left out, which only adds ways to match, but for this: what has
one after it may fail.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

MOST_COPIES = 400
"""Positions of a repeat that are written out; one with more counts as one without end."""
MOST_WAYS = 64
_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
}
_BEGINNINGS = (_constants.AT_BEGINNING, _constants.AT_BEGINNING_STRING)


@dataclass(frozen=True, slots=True)
class _Part:
    """Of a part of a pattern: whether it may be empty, and the positions that it may begin and end with."""

    empty: bool
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    checked: bool = False
    """An assertion stands before anything is matched."""


@dataclass(slots=True)
class _Automaton:
    """The positions, by number: what each holds, and what may follow it."""

    flags: int
    universe: tuple[int, ...]
    holds: list[frozenset[int]] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    uncertain: set[int] = field(default_factory=set)
    """Positions after which an assertion may fail."""

    def part(self, nodes: Iterable[Any]) -> _Part:
        """Take a sequence."""
        return reduce(self._joined, map(self._node, nodes), _Part(empty=True))

    def _node(self, node: Any) -> _Part:
        kind, value = node
        if kind in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN):
            return self._position(self._class(kind, value))
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            return self._repeat(*value)
        if kind is _constants.BRANCH:
            return _either([self.part(each) for each in value[1]])
        if kind is _constants.SUBPATTERN:
            return self._group(value)
        if kind is _constants.ATOMIC_GROUP:
            return self.part(value)
        if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            assert value[1].getwidth()[1] < MOST_COPIES, "an assertion has no end"
            return _Part(empty=True, checked=True)
        assert kind is _constants.AT, f"{kind} is not understood"
        return _Part(empty=True, checked=True)

    def _group(self, value: Any) -> _Part:
        assert not value[1] & re.IGNORECASE, "flags of a group are not understood"
        return self.part(value[3])

    def _position(self, held: frozenset[int]) -> _Part:
        self.holds.append(held)
        self.follow.append(set())
        here = frozenset({len(self.holds) - 1})
        return _Part(empty=False, first=here, last=here)

    def _repeat(self, least: int, most: int, body: Any) -> _Part:
        begun = len(self.holds)
        made = self.part(body)
        assert not (made.empty and (least == 0 or most > 1)), "what repeats may be empty"
        if most is not _constants.MAXREPEAT and most * (len(self.holds) - begun) <= MOST_COPIES:
            return self._written_out(least, [made, *(self.part(body) for _ in range(1, most))][:most])
        self._link(made.last, made.first)
        self.uncertain |= made.last if made.checked else set()
        return _Part(least == 0, made.first, made.last, made.checked)

    def _written_out(self, least: int, copies: list[_Part]) -> _Part:
        """What comes at least so often, each copy beyond that only after the one before it: `a(a(a)?)?`."""
        made = _Part(empty=True)
        for number, copy in reversed(list(enumerate(copies))):
            joined = self._joined(copy, made)
            made = joined if number < least else _Part(True, joined.first, joined.last, joined.checked)
        return made

    def _joined(self, before: _Part, after: _Part) -> _Part:
        self._link(before.last, after.first)
        self.uncertain |= before.last if after.checked else set()
        first = before.first | after.first if before.empty else before.first
        last = before.last | after.last if after.empty else after.last
        return _Part(before.empty and after.empty, first, last, before.checked or (before.empty and after.checked))

    def _link(self, lasts: Iterable[int], firsts: Iterable[int]) -> None:
        for last in lasts:
            assert self.follow[last].isdisjoint(firsts), "a repeat is in a repeat"
            self.follow[last].update(firsts)

    def _class(self, kind: Any, value: Any) -> frozenset[int]:
        if kind is _constants.ANY:
            return frozenset(self.universe) - (frozenset() if self.flags & re.DOTALL else {10})
        if kind is _constants.IN:
            negated = value[0][0] is _constants.NEGATE
            held = frozenset().union(*(self._item(*item) for item in value[negated:]))
            return frozenset(self.universe) - held if negated else held
        held = self._item(_constants.LITERAL, value)
        return held if kind is _constants.LITERAL else frozenset(self.universe) - held

    def _item(self, kind: Any, value: Any) -> frozenset[int]:
        if kind is _constants.CATEGORY:
            is_one = re.compile(_CATEGORIES[value], self.flags & re.ASCII)
            return frozenset(code for code in self.universe if is_one.match(chr(code)))
        low, high = value if kind is _constants.RANGE else (value, value)
        held = {code for code in self.universe if low <= code <= high}
        if self.flags & re.IGNORECASE:
            held |= {ord(other) for code in held for other in (chr(code).lower(), chr(code).upper()) if len(other) == 1}
        return frozenset(held)


def problem(pattern: str | bytes, flags: int = 0, *, searched: bool) -> str | None:
    """Why a pattern may take longer than its text is long, or why that cannot be told; None if it is linear.

    `searched` is for one that is not matched at the beginning.
    """
    parsed = _parser.parse(pattern, flags)
    automaton = _Automaton(parsed.state.flags, _universe(parsed))
    try:
        whole = automaton.part(parsed)
    except AssertionError as error:
        return str(error)
    looping = frozenset(position for position in range(len(automaton.holds)) if position in _reached(automaton, position))
    if wrong := _shared(automaton, whole, looping):
        return wrong
    anchored = len(parsed) > 0 and parsed[0] in [(_constants.AT, each) for each in _BEGINNINGS]
    return _restarts(automaton, whole, looping) if searched and not anchored else None


def _shared(automaton: _Automaton, whole: _Part, looping: frozenset[int]) -> str | None:
    """Two ways on: in what repeats there may be none, elsewhere a few in all, each of which is gone once."""
    ways = _most(automaton, whole.first)
    for position, group in enumerate(automaton.follow):
        here = _most(automaton, group)
        if position in looping and here > 1:
            return f"a repeat of {_sample(automaton, position)!r} may end in two ways with the same character"
        ways *= here
    return f"there are {ways} ways through it" if ways > MOST_WAYS else None


def _most(automaton: _Automaton, group: Iterable[int]) -> int:
    """How many of a group may take the same character."""
    counted = Counter(code for position in group for code in automaton.holds[position])
    return max(counted.values(), default=1)


def _sample(automaton: _Automaton, position: int) -> str:
    return chr(min(automaton.holds[position], default=0))


def _restarts(automaton: _Automaton, whole: _Part, looping: frozenset[int]) -> str | None:
    for first in whole.first:
        for position in (_reached(automaton, first) | {first}) & looping - (whole.last - automaton.uncertain):
            if both := automaton.holds[first] & automaton.holds[position]:
                return f"{chr(min(both))!r} begins a match, and is in a repeat that may fail"
    return None


def _reached(automaton: _Automaton, position: int) -> set[int]:
    """Positions that may come after one."""
    reached, waiting = set[int](), [position]
    while waiting:
        fresh = automaton.follow[waiting.pop()] - reached
        reached |= fresh
        waiting += fresh
    return reached


def _either(parts: list[_Part]) -> _Part:
    empty = sum(part.empty for part in parts)
    assert empty <= 1, "two alternatives may be empty"
    first = frozenset[int]().union(*(part.first for part in parts))
    last = frozenset[int]().union(*(part.last for part in parts))
    return _Part(bool(empty), first, last, any(part.checked for part in parts))


def _universe(parsed: Any) -> tuple[int, ...]:
    """Characters of each sort that there is, and those at the borders of what the pattern names."""
    named = set(range(256)) | {0x17F, 0x212A, 0x660, 0x2003, 0x4E00, 0xD7FF, 0xDC80, 0xEF80, 0xFFFD, 0x10FFFF}
    for value in _numbers(parsed):
        named |= {each for each in (value - 1, value, value + 1) if 0 <= each <= 0x10FFFF}
    return tuple(sorted(named))


def _numbers(node: Any) -> Iterator[int]:
    if isinstance(node, int) and type(node) is int:
        yield node
    elif isinstance(node, list | tuple | _parser.SubPattern):
        for each in node:
            yield from _numbers(each)
