"""The chain of hashes."""

import hashlib
import json

import pytest

from sandbox_server.drivers.recorder.hash_chain import BEFORE_ALL, Broken, follow, hash_of, link


def test_a_line_can_be_checked_with_nothing_but_sha256() -> None:
    line, digest = link({"n": 1, "what": "ä"}, BEFORE_ALL)

    rest = line.rstrip(b"\n").split(b'",', 1)[1]
    assert hashlib.sha256(BEFORE_ALL.encode() + rest).hexdigest() == digest == hash_of(line)
    assert json.loads(line) == {"hash": digest, "n": 1, "what": "ä"}


def test_a_change_shows_at_its_line_and_a_line_that_was_left_out_at_the_next() -> None:
    lines, prev = [], BEFORE_ALL
    for number in range(4):
        line, prev = link({"n": number}, prev)
        lines.append(line)

    assert list(follow(lines, BEFORE_ALL))[-1] == prev
    changed = [lines[0], lines[1].replace(b'"n":1', b'"n":7'), *lines[2:]]
    assert isinstance(found := list(follow(changed, BEFORE_ALL))[-1], Broken)
    assert found.line == 2
    assert isinstance(found := list(follow(lines[:1] + lines[2:], BEFORE_ALL))[-1], Broken)
    assert found.line == 2


def test_what_is_no_line_of_a_chain_breaks_it() -> None:
    with pytest.raises(ValueError, match="not a line"):
        hash_of(b'{"n":1}\n')
    assert isinstance(next(follow([b"{}\n"], BEFORE_ALL)), Broken)
