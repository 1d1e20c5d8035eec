"""File modes in the syntax of chmod(1): `0755`, `u+x`, `go-w,a=r`."""

import re

from sandbox_server.drivers.files.worker_errors import FileRefused

_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=][rwxXst]*)+)")
_STEP = re.compile(r"([-+=])([rwxXst]*)")
_SHIFTS = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1}


def change_mode(mode: int, wanted: str) -> int:
    """Apply `wanted` to the mode of a file, type bits included, and return the new permission bits.

    Raises FileRefused for an invalid mode.
    """
    if re.fullmatch(r"[0-7]{1,4}", wanted):
        return int(wanted, 8)
    bits = mode & 0o7777
    for clause in wanted.split(","):
        found = _CLAUSE.fullmatch(clause)
        if not found:
            raise FileRefused("invalid_target", f"{wanted!r} is not a mode: use octal digits, or a form such as u+x")
        classes = "ugo" if found[1] in ("", "a") or "a" in found[1] else found[1]
        for sign, letters in _STEP.findall(found[2]):
            bits = _apply(bits, classes, sign, letters, is_directory=(mode & 0o170000) == 0o040000)
    return bits


def _apply(bits: int, classes: str, sign: str, letters: str, *, is_directory: bool) -> int:
    if "X" in letters and (is_directory or bits & 0o111):
        letters += "x"
    chosen = sum(_BITS.get(letter, 0) for letter in set(letters))
    value = sum(chosen << _SHIFTS[name] for name in set(classes))
    value |= 0o1000 * ("t" in letters) | 0o4000 * ("s" in letters and "u" in classes) | 0o2000 * ("s" in letters and "g" in classes)
    if sign == "-":
        return bits & ~value
    if sign == "=":
        bits &= ~sum(7 << _SHIFTS[name] for name in set(classes))
    return bits | value
