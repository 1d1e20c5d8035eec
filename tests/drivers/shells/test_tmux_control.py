from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.shells import tmux_control
from sandbox_server.drivers.shells.tmux_control import (
    ControlError,
    ControlEvent,
    ControlParser,
    ControlReply,
    PaneOutput,
    TmuxNotification,
    keys,
    quote,
    unescape,
)

type Cuts = list[int]

CONVERSATION = (
    b"%begin 1700000000 1 0\n%end 1700000000 1 0\n"
    b"%session-changed $0 tandem\n"
    b"%output %1 caf\xc3\xa9\\033[1m\\134\\015\\012\n"
    b"%begin 1700000001 2 1\n@1 %1 42\n\n%end 1700000001 2 1\n"
    b"%begin 1700000001 3 1\nunknown command: x\n%error 1700000001 3 1\n"
    b"%window-renamed @1 ended\n"
)
EVENTS: list[ControlEvent] = [
    TmuxNotification("session-changed", "$0 tandem"),
    PaneOutput("%1", b"caf\xc3\xa9\x1b[1m\\\r\n"),
    ControlReply((b"@1 %1 42", b""), failed=False),
    ControlReply((b"unknown command: x",), failed=True),
    TmuxNotification("window-renamed", "@1 ended"),
]


def escaped(data: bytes) -> bytes:
    """Write bytes as tmux does in `%output`."""
    return b"".join(b"\\%03o" % byte if byte < 32 or byte == 0x5C else bytes([byte]) for byte in data)


def fed(parser: ControlParser, *pieces: bytes) -> list[ControlEvent]:
    return [event for piece in pieces for event in parser.feed(piece)]


def cut(data: bytes, places: Cuts) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def test_a_conversation_is_understood() -> None:
    assert fed(ControlParser(), CONVERSATION) == EVENTS


def test_a_conversation_is_understood_byte_by_byte() -> None:
    assert fed(ControlParser(), *cut(CONVERSATION, list(range(len(CONVERSATION))))) == EVENTS


@given(st.lists(st.integers(min_value=0)))
def test_a_conversation_is_understood_in_any_pieces(places: Cuts) -> None:
    assert fed(ControlParser(), *cut(CONVERSATION, places)) == EVENTS


def test_what_follows_an_unfinished_line_is_not_told_before_that_line_ends() -> None:
    parser = ControlParser()
    assert parser.feed(b"%output %1 a") == []
    assert parser.feed(b"b\n%output %2 c") == [PaneOutput("%1", b"ab")]
    assert parser.feed(b"\n") == [PaneOutput("%2", b"c")]


@given(st.binary(), st.lists(st.integers(min_value=0)))
def test_every_byte_of_a_pane_arrives_as_it_was_written(data: bytes, places: Cuts) -> None:
    line = b"%output %7 " + escaped(data) + b"\n"
    assert fed(ControlParser(), *cut(line, places)) == [PaneOutput("%7", data)]


@pytest.mark.parametrize(
    ("octal", "plain"),
    [(rb"\033[0m", b"\x1b[0m"), (rb"\134", b"\\"), (rb"\134033", rb"\033"), (rb"\0337", b"\x1b7"), (b"\xff\\000", b"\xff\0"), (b"", b"")],
)
def test_octal_is_three_digits_and_is_undone_once(octal: bytes, plain: bytes) -> None:
    assert unescape(octal) == plain


def test_lines_of_a_reply_are_not_taken_for_what_they_look_like() -> None:
    inside = [b"%output %1 x", b"%window-renamed @1 ended", b"%begin 5 6 1", b"%end 1 2 0", b"%end 1 2 1 ", b"%error 1 3 1", b"\\033"]
    frame = b"\n".join([b"%begin 1 2 1", *inside, b"%end 1 2 1", b""])
    assert fed(ControlParser(), frame) == [ControlReply(tuple(inside), failed=False)]


def test_an_error_ends_only_the_reply_that_it_names() -> None:
    frame = b"%begin 1 2 1\n%error 1 22 1\nbad\n%error 1 2 1\n"
    assert fed(ControlParser(), frame) == [ControlReply((b"%error 1 22 1", b"bad"), failed=True)]


def test_the_lines_of_one_reply_are_not_those_of_the_next() -> None:
    frames = b"%begin 1 2 1\na\n%end 1 2 1\n%begin 1 3 1\n%end 1 3 1\n"
    assert fed(ControlParser(), frames) == [ControlReply((b"a",), failed=False), ControlReply((), failed=False)]


def test_replies_to_nobody_s_question_are_left_out_with_their_lines() -> None:
    frames = b"%begin 1 2 0\nhook said this\n%error 1 2 0\n%begin 1 3 1\nb\n%end 1 3 1\n"
    assert fed(ControlParser(), frames) == [ControlReply((b"b",), failed=False)]


@pytest.mark.parametrize("line", [b"%end 1 2 1\n", b"%error 1 2 1\n"])
def test_the_end_of_a_reply_that_never_began_is_an_error(line: bytes) -> None:
    with pytest.raises(ControlError, match="never began"):
        ControlParser().feed(line)


def test_a_line_that_is_no_notification_says_nothing() -> None:
    assert fed(ControlParser(), b"tandem:1.0: no such hook\n\n%exit\n") == [TmuxNotification("exit", "")]


def test_a_notice_may_hold_bytes_that_are_not_utf8() -> None:
    assert fed(ControlParser(), b"%window-renamed @1 \xff\n") == [TmuxNotification("window-renamed", "@1 \ufffd")]


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmux_control, "MAX_LINE", 100)
    parser = ControlParser()
    assert parser.feed(b"%output %1 " + b"x" * 89) == []
    with pytest.raises(ControlError, match="longer than 100"):
        parser.feed(b"x")


def test_the_length_of_a_line_is_counted_from_its_own_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmux_control, "MAX_LINE", 100)
    parser = ControlParser()
    pieces = [b"%output %1 " + b"x" * 60, *[b"\n%output %1 " + b"y" * 60] * 5, b"\n"]
    assert len(fed(parser, *pieces)) == 6


@pytest.mark.parametrize(("word", "quoted"), [("a b", "'a b'"), ("", "''"), ("it's $HOME; #{x} \\", "'it'\\''s $HOME; #{x} \\'")])
def test_a_quoted_word_is_one_literal_word(word: str, quoted: str) -> None:
    assert quote(word) == quoted


@pytest.mark.parametrize("word", ["a\nkill-server", "a\0b"])
def test_a_word_cannot_begin_another_command(word: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        quote(word)


@given(st.binary(max_size=5000))
def test_typed_bytes_are_spelled_out_whole_and_in_order(data: bytes) -> None:
    prefix = "send-keys -t %3 -H "
    commands = keys("%3", data)
    assert all(command.startswith(prefix) for command in commands)
    assert b"".join(bytes.fromhex(command.removeprefix(prefix)) for command in commands) == data


def test_a_long_paste_is_typed_in_several_commands() -> None:
    lengths = [len(command.split(" -H ")[1].split()) for command in keys("%3", b"x" * 2500)]
    assert lengths == [1024, 1024, 452]


def test_a_reply_without_an_end_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmux_control, "MAX_REPLY", 10)
    parser = ControlParser()
    parser.feed(b"%begin 1 2 1\nfour\n")
    with pytest.raises(ControlError, match="a reply is longer than 10 bytes"):
        parser.feed(b"five.\n")


def test_each_reply_has_that_much_room_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmux_control, "MAX_REPLY", 10)
    parser = ControlParser()
    for _ in range(3):
        [reply] = parser.feed(b"%begin 1 2 1\n123456789\n%end 1 2 1\n")
        assert reply == ControlReply((b"123456789",), failed=False)
