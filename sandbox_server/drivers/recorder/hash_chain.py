"""The chain: each line holds the hash of itself and of all before it, so that a change to any shows.

A line is a JSON object whose first member is the hash, in a form that needs no second way of writing JSON to be checked:

    {"hash":"<64 hexadecimal digits>",<the rest>

where the hash is SHA-256 over the hash of the line before, as its 64 digits, and the bytes of the rest. The first line of a file names the
hash of the line before it as `prev`, so that a file can be checked where those before it are gone.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

BEFORE_ALL = "0" * 64
"""The hash before the first line of all."""
_OPEN = b'{"hash":"'
_START = len(_OPEN) + 64 + len(b'",')


@dataclass(frozen=True, slots=True)
class Broken:
    """The first line at which a chain does not hold."""

    line: int
    """Its number in the file, from 1."""
    reason: str


def link(entry: dict[str, Any], prev: str) -> tuple[bytes, str]:
    """The line of an entry, with its newline, and its hash."""
    rest = orjson.dumps(entry)[1:]
    digest = _digest(prev, rest)
    return b'%b%b",%b\n' % (_OPEN, digest.encode(), rest), digest


def hash_of(line: bytes) -> str:
    """The hash that a line names; raises ValueError for what is no line of a chain."""
    if not line.startswith(_OPEN) or line[_START - 2 : _START] != b'",':
        raise ValueError("not a line of a chain")
    return line[len(_OPEN) : len(_OPEN) + 64].decode("ascii")


def follow(lines: Iterable[bytes], prev: str) -> Iterator[str | Broken]:
    """The hash of each line, or why the chain does not hold at it, which is then the last."""
    for number, line in enumerate(lines, 1):
        try:
            named = hash_of(line)
        except ValueError as error:
            yield Broken(number, str(error))
            return
        if named != _digest(prev, line[_START:].rstrip(b"\n")):
            yield Broken(number, "it is not what was written, or what came before it is not")
            return
        yield (prev := named)


def _digest(prev: str, rest: bytes) -> str:
    return hashlib.sha256(prev.encode("ascii") + rest).hexdigest()
