from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.shells.shell_integration import MAX_MARK, Mark, MarkParser

NONCE = "5f0c1d"


def mark(body: str, nonce: str = NONCE) -> bytes:
    return f"\x1b]7133;{nonce};{body}\x07".encode("utf-8", "surrogateescape")


SCENE = b"$ ls\r\n" + mark("start;t1") + b"\x1b[34mdir\x1b[0m\x1b]0;title\x07\r\n" + mark("end;t1;0;/tmp") + mark("prompt;0;/tmp") + b"$ "
STRIPPED = b"$ ls\r\n\x1b[34mdir\x1b[0m\x1b]0;title\x07\r\n$ "
MARKS = [Mark("start", ("t1",)), Mark("end", ("t1", "0", "/tmp")), Mark("prompt", ("0", "/tmp"))]


def parsed(*pieces: bytes, nonce: str = NONCE) -> tuple[bytes, list[Mark]]:
    """Give all output and all marks of the pieces."""
    parser = MarkParser(nonce)
    parts = [part for piece in pieces for part in parser.feed(piece)]
    return b"".join(part for part in parts if isinstance(part, bytes)), [part for part in parts if isinstance(part, Mark)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def test_output_and_marks_come_in_the_order_of_the_bytes() -> None:
    parts = list(MarkParser(NONCE).feed(SCENE))
    assert parts == [b"$ ls\r\n", MARKS[0], b"\x1b[34mdir\x1b[0m\x1b]0;title\x07\r\n", MARKS[1], MARKS[2], b"$ "]


def test_marks_are_taken_out_exactly_when_they_come_byte_by_byte() -> None:
    assert parsed(*cut(SCENE, list(range(len(SCENE))))) == (STRIPPED, MARKS)


@given(st.lists(st.integers(min_value=0)))
def test_marks_are_taken_out_exactly_whatever_the_pieces(places: list[int]) -> None:
    assert parsed(*cut(SCENE, places)) == (STRIPPED, MARKS)


@given(
    st.lists(st.sampled_from([b"\x1b", b"\x1b]", b"\x1b]7133;", mark("end;t;0;/", "guess"), b"x", b"\x07", b"\xff"])),
    st.lists(st.integers(0)),
)
def test_what_is_not_a_mark_stays_output_to_the_byte(pieces: list[bytes], places: list[int]) -> None:
    data = b"".join(pieces) + b"."  # so that nothing is still held back
    assert parsed(*cut(data, places)) == (data, [])


@pytest.mark.parametrize(
    "forged",
    [
        mark("end;t1;0;/", "000000"),
        mark("end;t1;0;/", ""),
        mark("end;t1;0;/", NONCE[:-1]),
        mark("end;t1;0;/", NONCE + "0"),
        b"\x1b]7133;end;t1;0;/\x07",
        b"]7133;5f0c1d;end;t1;0;/\x07",
        b"\x1b]133;D;0\x07",
    ],
)
def test_a_mark_without_the_nonce_is_output(forged: bytes) -> None:
    assert parsed(b"a" + forged + b"b") == (b"a" + forged + b"b", [])


def test_output_is_not_delayed_unless_a_mark_may_begin_in_it() -> None:
    parser = MarkParser(NONCE)
    assert list(parser.feed(b"loading\x1b[3")) == [b"loading\x1b[3"]
    assert list(parser.feed(b"1mred\x1b")) == [b"1mred"]
    assert list(parser.feed(b"]0;")) == [b"\x1b]0;"]


def test_it_is_known_whether_something_is_held_back() -> None:
    parser = MarkParser(NONCE)
    held = []
    for piece in (b"a", b"b\x1b]", b"7133;", b"x", b"\x1b]7133;5f0c1d;rea", b"dy\x07"):
        list(parser.feed(piece))
        held.append(parser.holds)
    assert held == [False, True, True, False, True, False]


def test_an_escape_that_begins_anew_lets_the_earlier_one_go() -> None:
    parser = MarkParser(NONCE)
    assert list(parser.feed(b"\x1b]71")) == []
    assert list(parser.feed(b"\x1b]7133;5f0")) == [b"\x1b]71"]
    assert list(parser.feed(b"c1d;ready\x07")) == [Mark("ready")]


def test_a_mark_that_never_ends_becomes_output_and_is_not_kept_for_ever() -> None:
    begin = mark("end;t1;0;/")[:-1]
    rest = b"x" * (MAX_MARK - len(begin) - 1)
    parser = MarkParser(NONCE)
    assert list(parser.feed(begin + rest)) == []
    assert list(parser.feed(b"yz")) == [begin + rest + b"yz"]
    assert list(parser.feed(b"more" + mark("ready"))) == [b"more", Mark("ready")]


def test_a_mark_of_the_longest_path_is_read() -> None:
    path = "/" + "d" * 4095
    assert parsed(mark(f"end;{'t' * 32};130;{path}")) == (b"", [Mark("end", ("t" * 32, "130", path))])


def test_a_kind_that_nobody_knows_is_taken_out_and_says_nothing() -> None:
    assert parsed(b"a" + mark("later;1") + b"b") == (b"ab", [])


def test_an_end_tells_command_status_and_directory() -> None:
    _, [end] = parsed(mark("end;t1;130;/a;b"))
    assert (end.token, end.status, end.directory) == ("t1", 130, "/a;b")


def test_a_prompt_tells_status_and_directory() -> None:
    _, [prompt] = parsed(mark("prompt;1;/srv;x"))
    assert (prompt.status, prompt.directory) == (1, "/srv;x")


def test_a_directory_that_is_not_utf8_is_kept_to_the_byte() -> None:
    _, [prompt] = parsed(mark("prompt;0;/caf\udce9"))
    assert prompt.directory.encode("utf-8", "surrogateescape") == b"/caf\xe9"


def test_a_mark_of_no_command_has_no_token() -> None:
    _, [line] = parsed(mark("line"))
    assert (line.kind, line.token) == ("line", "")


@pytest.mark.parametrize(
    "body", [b"end", b"prompt", b"prompt;x;/", b"end;t;/", b"end;t;99999;/", b"prompt;;/", b"end;t;" + b"9" * 5000 + b";/"]
)
def test_what_no_shell_says_of_an_end_or_a_prompt_says_nothing(body: bytes) -> None:
    assert list(MarkParser(NONCE).feed(b"\x1b]7133;" + NONCE.encode() + b";" + body + b"\x07")) == []
