"""Text of an untrusted author, made visible: what cannot be seen, or moves other text, is written as its code point."""

import unicodedata

MAX_MARKS = 3
"""Combining marks that one letter may carry."""
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that have no shape."""
_WRITTEN = {" ": " ", "\n": "↵", "\t": "⇥"}


def visible(text: str) -> str:
    """Return the text on one line, with every character visible.

    Line breaks become `↵` and tabs `⇥`. Invisible characters, those that change the direction of writing, unusual spaces,
    variation selectors and marks that pile up become `⟨U+202E⟩` and the like.
    """
    written, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        written.append(_written(character, piled=marks > MAX_MARKS))
    return "".join(written)


def _written(character: str, *, piled: bool) -> str:
    if character in _WRITTEN:
        return _WRITTEN[character]
    if piled or character in _BLANK or unicodedata.category(character) in _HIDDEN_CATEGORIES or _is_selector(ord(character)):
        return f"⟨U+{ord(character):04X}⟩"
    return character


def _is_selector(code: int) -> bool:
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F
