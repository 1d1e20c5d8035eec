"""What is read of ripgrep's JSON; `test_search` runs the program."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox_server.drivers.files import ripgrep
from sandbox_server.drivers.files.ripgrep import Collector


def event(kind: str, **data: Any) -> bytes:
    return json.dumps({"type": kind, "data": data}, separators=(",", ":")).encode() + b"\n"


def line(kind: str, number: int, text: str) -> bytes:
    return event(kind, path={"text": "/f"}, lines={"text": text}, line_number=number, submatches=[{"start": 0, "end": 1}])


def output(path: dict[str, str], *lines: bytes) -> Iterator[bytes]:
    yield event("begin", path=path)
    yield from lines
    yield event("end", path=path)


SUMMARY = event("summary", stats={"searches": 7, "searches_with_match": 3})


def test_output_is_read_however_it_is_cut() -> None:
    whole = b"".join([*output({"text": "/f"}, line("match", 2, "found\n"), line("context", 3, "next\r\n")), SUMMARY])
    for size in (1, 7, len(whole)):
        collector = Collector(after=1, limit=10)
        for at in range(0, len(whole), size):
            collector.take(whole[at : at + size])
        [match] = collector.found.matches
        assert (match.file, match.line, match.text, match.after) == ("/f", 2, "found", ["next"])
        assert (collector.found.total, collector.found.files_searched, collector.found.ended) == (1, 7, True)


def test_only_one_page_is_kept_and_everything_counted() -> None:
    collector = Collector(offset=2, limit=3)
    for chunk in output({"text": "/f"}, *(line("match", number, "x\n") for number in range(1, 11))):
        collector.take(chunk)
    assert ([match.line for match in collector.found.matches], collector.found.total) == ([3, 4, 5], 10)


def test_files_that_are_not_wanted_do_not_count() -> None:
    collector = Collector(limit=10, wanted=lambda path: path == "/g")
    for path in ("/f", "/g"):
        for chunk in output({"text": path}, line("match", 1, "x\n"), line("context", 2, "y\n")):
            collector.take(chunk)
    collector.take(SUMMARY)
    assert (collector.found.total, collector.found.files_matched) == (1, 1)


def test_bytes_that_are_no_text_are_shown_and_names_stay_exact() -> None:
    lines = {"bytes": base64.b64encode(b"caf\xe9\n").decode()}
    name = {"bytes": base64.b64encode(b"/caf\xe9").decode()}
    collector = Collector(limit=1)
    for chunk in output(name, event("match", path=name, lines=lines, line_number=1, submatches=[])):
        collector.take(chunk)
    [match] = collector.found.matches
    assert (match.file, match.text) == ("/caf\uefe9", "caf\ufffd")


def test_a_match_over_several_lines_has_its_context_around_it() -> None:
    collector = Collector(before=1, after=1, limit=1)
    for chunk in output({"text": "/f"}, line("context", 1, "a\n"), line("match", 2, "b\nc\n"), line("context", 4, "d\n")):
        collector.take(chunk)
    [match] = collector.found.matches
    assert (match.before, match.text, match.after) == (["a"], "b\nc", ["d"])


def test_output_that_never_ends_its_line_fills_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "MAX_EVENT", 100)
    collector = Collector(limit=1)
    collector.take(b"{" * 60)
    assert not collector.full
    collector.take(b"{" * 60)
    assert collector.full
