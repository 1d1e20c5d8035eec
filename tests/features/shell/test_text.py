import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.features.shell import text as module
from sandbox_server.features.shell.text import MOST, SCREEN_ROWS, increment, plain, shorten
from tests.tables import table_test

WORDS = st.text(st.characters(exclude_categories=["C"]) | st.sampled_from("\n\t"), max_size=20)
COLOURS = st.sampled_from(
    ["\x1b[31m", "\x1b[0m", "\x1b[38;5;196m", "\x1b[?25l", "\x1b]0;title\x07", "\x1b]8;;http://x/\x1b\\", "\x1b(B", "\x1b="]
)
SEQUENCES = st.sampled_from(
    ["\x1b[2K", "\x1b[10;20H", "\x1b[?1049h", "\x1b7", "\x1bM", "\r", "\r\n", "\r\r\n", "\b", "\a", "日本", "é", "😀"]
)


@table_test(
    [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("one\r\r\ntwo", "one\ntwo"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38:2::1:2:3mmore\x1b[m", "red and more"),
        ("10%\r20%\r100%\r\n", "100%\n"),
        ("a longer line\rshort\r\n", "shortger line\n"),
        ("a longer line\r\x1b[Kshort\r\n", "short\n"),
        ("a longer line\x1b[2K\rshort\r\n", "short\n"),
        ("abc\b\bX\r\n", "aXc\n"),
        ("abc\b \b\r\n", "ab \n"),
        ("b\bbo\bol\bld\r\n", "bold\n"),
        ("\b\b\bstart", "start"),
        ("a\tb\r\n", "a\tb\n"),
        ("bell\a\x00\x0e\x0f", "bell"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0~\x1b\\text", "text"),
        ("\x1b_Gi=1;AAAA\x1b\\text", "text"),
        ("one\r\ntwo\r\n\x1b[2A\x1b[2KONE\r\n", "ONE\ntwo\n"),
        ("one\x1b[2Dx", "oxe"),
        ("ab\x1b[5Cx", "ab     x"),
        ("abcdef\x1b[3G\x1b[2P", "abef"),
        ("abcdef\x1b[3G\x1b[2@", "ab  cdef"),
        ("abcdef\x1b[3G\x1b[2X", "ab  ef"),
        ("abcdef\x1b[3G\x1b[1K", "   def"),
        ("one\r\ntwo\r\n\x1b[2J\x1b[Hthree", "three\n\n"),
        ("one\r\ntwo\r\nthree\x1b[2;1H\x1b[J", "one\n"),
        ("one\r\ntwo\r\nthree\x1b[1;1H\x1b[M", "two\nthree"),
        ("one\r\ntwo\x1b[1;1H\x1b[L", "\none\ntwo"),
        ("one\x1b7\r\ntwo\x1b8!", "one!\ntwo"),
        ("before\r\n\x1b[?1049h\x1b[2J\x1b[Hfull screen\x1b[?1049lafter", "before\nafter"),
        ("before\r\n\x1b[?1049h\x1b[Hfull screen", "before\n\n\nfull screen"),
        ("\x1bcanew", "anew"),
        ("ends in \x1b[3", "ends in "),
        ("ends in \x1b", "ends in "),
        ("日本語\r\n", "日本語\n"),
        ("0%\r日本", "日本"),
        ("é😀\bx", "é x"),
    ]
)
def test_what_a_terminal_would_show_is_left(raw: str, text: str) -> None:
    assert plain(raw.encode()) == text


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert plain(b"a\xff\xfeb\xe6\x97") == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"


def test_lines_that_scrolled_away_are_not_written_over() -> None:
    lines = "".join(f"{number}\r\n" for number in range(100))
    shown = plain(f"{lines}\x1b[999A\rX".encode()).split("\n")
    assert shown[: 101 - SCREEN_ROWS] == [str(number) for number in range(101 - SCREEN_ROWS)]
    assert shown[101 - SCREEN_ROWS].startswith("X")


def test_a_line_of_a_megabyte_is_whole() -> None:
    line = string.ascii_letters * 20_000
    assert plain(f"\x1b[1m{line}\x1b[0m\r\n".encode()) == f"{line}\n"


def test_a_progress_line_of_many_thousand_steps_is_one_line() -> None:
    assert plain(b"".join(b"\r%d%%" % (step // 500) for step in range(50_000))) == "99%"


def test_a_cursor_far_to_the_right_makes_no_endless_line() -> None:
    assert len(plain(b"\x1b[999999Cx\x1b[999999999G" + b"y")) < 2000


def test_what_would_take_too_long_to_follow_is_given_without_its_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WORK", 1000)
    assert plain(b"x" * 500 + b"\x1b[1D\x1b[1D\x1b[1Dy\r\nend") == "x" * 500 + "y\nend"


@given(WORDS)
def test_text_without_sequences_stays_as_it_is(text: str) -> None:
    assert plain(text.encode()) == text


@given(st.lists(st.tuples(WORDS, COLOURS)))
def test_colours_titles_and_modes_leave_nothing(pieces: list[tuple[str, str]]) -> None:
    assert plain("".join(map("".join, pieces)).encode()) == "".join(word for word, _ in pieces)


@given(
    st.lists(
        st.binary(max_size=30)
        | COLOURS.map(str.encode)
        | SEQUENCES.map(str.encode)
        | st.from_regex(rb"\x1b\[[0-9;]{0,4}[@-~]", fullmatch=True)
    )
)
def test_whatever_comes_no_control_character_is_left(pieces: list[bytes]) -> None:
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f]", plain(b"".join(pieces)).replace("\n", ""))


@given(st.lists(WORDS | COLOURS | SEQUENCES, max_size=20), st.lists(st.integers(1, 9), min_size=1))
def test_in_pieces_a_stream_gives_the_same_text_as_at_once(parts: list[str], sizes: list[int]) -> None:
    raw = "".join(parts).encode()
    given, held = "", b""
    for size in sizes:
        held, raw = held + raw[:size], raw[size:]
        text, used = increment(held, last=False)
        given, held = given + text, held[used:]
    rest, used = increment(held + raw, last=True)
    assert used == len(held + raw)
    assert given + rest == increment("".join(parts).encode(), last=True)[0]


@pytest.mark.parametrize(
    ("raw", "text", "used"),
    [
        (b"red \x1b[3", "red ", 4),
        (b"title \x1b]0;abc", "title ", 6),
        (b"title \x1b]0;abc\x1b", "title ", 6),
        (b"caf\xc3", "caf", 3),
        (b"\xf0\x9f\x98", "", 0),
        (b"line\r", "line", 4),
        (b"10%\r20%", "10%\r20%", 7),
        (b"line\r\n", "line\n", 6),
    ],
)
def test_what_may_go_on_in_the_next_piece_is_left_for_it(raw: bytes, text: str, used: int) -> None:
    assert increment(raw, last=False) == (text, used)


def test_a_sequence_without_end_is_not_held_forever() -> None:
    text, used = increment(b"\x1b]0;" + b"x" * 10_000, last=False)
    assert used > 0
    assert len(text) < 10_000


@given(st.text(max_size=400), st.integers(90, 300))
def test_a_shortened_text_keeps_its_ends_and_counts_what_is_missing(text: str, most: int) -> None:
    short = shorten(text, most)
    assert len(short) <= most
    if len(text) <= most:
        assert short == text
        return
    marker = re.search(r"\n\.\.\. \[(\d+) of (\d+) characters omitted\] \.\.\.\n", short)
    assert marker
    head, tail = short[: marker.start()], short[marker.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert (int(marker[1]), int(marker[2])) == (len(text) - len(head) - len(tail), len(text))


def test_an_output_is_shortened_as_the_contract_has_it() -> None:
    assert shorten("x" * MOST) == "x" * MOST
    assert len(shorten("x" * (MOST + 1))) <= MOST == 30_000


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("漢字\b\b.", "漢. "),
        ("漢字\x1b[3Gx", "漢x "),
        ("漢字\x1b[2Gx", " x字"),
        ("漢字!\x1b[4Gx", "漢 x!"),
        ("漢字\x1b[2G\x1b[K", " "),
        ("漢字\x1b[1G\x1b[P", " 字"),
        ("漢字\x1b[2G\x1b[1K", "  字"),
        ("ab漢\rx", "xb漢"),
        ("漢字 100%\r漢字 50% ", "漢字 50% "),
    ],
)
def test_a_wide_character_takes_two_columns(raw: str, text: str) -> None:
    assert plain(raw.encode()).rstrip("\n") == text


@pytest.mark.parametrize("piece", [b"\r", b"\r\r\n", b"\x1b[", b"\x1b[1;", b"\x1b]", b"\x1b[0 ", b"\x1bP", b"a\r"])
def test_the_time_for_a_text_grows_with_its_length(piece: bytes) -> None:
    def seconds(count: int) -> float:
        begun = time.process_time()
        plain(piece * count)
        increment(piece * count, last=False)
        return time.process_time() - begun

    small = max(seconds(20_000), seconds(20_000), 0.02)
    assert seconds(40_000) < 3 * small
    assert plain(b"x" + b"\r" * 1_000_000 + b"\n") == "x\n"
