"""RFB client messages: cut where they end, whatever comes."""

import struct
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.vnc.messages import MAX_ENCODINGS, MAX_TEXT, SHARED, BadVncMessage, Messages, VncMessage, encodings_of
from tests.tables import table_test

GREETING = b"RFB 003.008\n\x01\x01"
EXTENDED_BUTTONS = -316


def set_encodings(*encodings: int) -> bytes:
    return struct.pack(f">BxH{len(encodings)}i", 2, len(encodings), *encodings)


def cut_text(length: int, content: bytes) -> bytes:
    return struct.pack(">Bxxxi", 6, length) + content


MESSAGES: list[tuple[str, bytes]] = [
    ("format", b"\x00" + b"\x07" * 19),
    ("encodings", set_encodings(0, 7, -239)),
    ("encodings", set_encodings()),
    ("update", struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)),
    ("key", struct.pack(">BBxxI", 4, 1, 0xFF0D)),
    ("pointer", struct.pack(">BBHH", 5, 0x81, 3, 4)),
    ("clipboard", cut_text(5, b"hello")),
    ("clipboard", cut_text(-4, b"\x01\x00\x00\x01")),
    ("update", struct.pack(">BBHHHH", 150, 1, 0, 0, 640, 480)),
    ("fence", struct.pack(">BxxxIB", 248, 1, 3) + b"abc"),
    ("resize", struct.pack(">BxHHBx", 251, 800, 600, 1) + b"\x00" * 16),
    ("key", struct.pack(">BBHII", 255, 0, 1, 0x61, 30)),
]


def after_greeting(*pieces: bytes) -> list[VncMessage]:
    messages = Messages()
    return [message for piece in (GREETING, *pieces) for message in messages.feed(piece)][3:]


@table_test(MESSAGES)
def test_each_message_is_taken_whole(kind: str, body: bytes) -> None:
    assert after_greeting(body) == [VncMessage(kind, body)]  # type: ignore[arg-type] # the name of a kind


@table_test(MESSAGES)
def test_a_message_that_is_not_complete_is_waited_for(kind: str, body: bytes) -> None:
    for at in range(1, len(body)):
        assert after_greeting(body[:at]) == []
        assert after_greeting(body[:at], body[at:]) == [VncMessage(kind, body)]  # type: ignore[arg-type] # the name of a kind


@given(st.lists(st.sampled_from(MESSAGES), max_size=20), st.lists(st.integers(0, 400), max_size=20))
def test_messages_are_the_same_however_the_bytes_are_split(sent: Sequence[tuple[str, bytes]], cuts: list[int]) -> None:
    stream = b"".join(body for _, body in sent)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(places)]
    assert [(message.kind, message.body) for message in after_greeting(*pieces)] == [*sent]


@given(st.lists(st.binary(max_size=64), max_size=30))
def test_nothing_is_invented_and_nothing_but_a_refusal_raised(pieces: list[bytes]) -> None:
    messages, passed = Messages(), b""
    list(messages.feed(GREETING))
    try:
        for piece in pieces:
            passed += b"".join(message.body for message in messages.feed(piece))
    except BadVncMessage:
        pass
    assert b"".join(pieces).startswith(passed)


def test_each_version_has_its_own_greeting() -> None:
    for greeting in (b"RFB 003.003\n\x00", b"RFB 003.007\n\x01\x00", b"RFB 003.008\n\x01\x00"):
        passed = b"".join(message.body for message in Messages().feed(greeting))
        assert passed == greeting[:-1] + SHARED, "who asks for the screen alone shares it"


@pytest.mark.parametrize("greeting", [b"GET / HTTP/1", b"RFB 004.000\n", b"RFB 003.889\n", b"RFB 003.008\n\x02"])
def test_another_greeting_is_refused(greeting: bytes) -> None:
    with pytest.raises(BadVncMessage):
        list(Messages().feed(greeting))


@pytest.mark.parametrize(
    "body",
    [
        b"\x01",
        b"\xfa\x00\x01\x02",
        b"\xff\x01",
        struct.pack(">BxH", 2, MAX_ENCODINGS + 1),
        struct.pack(">Bxxxi", 6, MAX_TEXT + 1),
        struct.pack(">Bxxxi", 6, -MAX_TEXT - 1),
        struct.pack(">Bxxxi", 6, -(1 << 31)),
        struct.pack(">BxxxIB", 248, 1, 65),
    ],
)
def test_what_is_not_known_or_too_large_ends_the_connection(body: bytes) -> None:
    with pytest.raises(BadVncMessage):
        after_greeting(body)


def test_a_pointer_message_is_longer_once_the_viewer_has_said_so() -> None:
    plain, longer = struct.pack(">BBHH", 5, 0x81, 3, 4), struct.pack(">BBHHB", 5, 0x81, 3, 4, 1)
    assert after_greeting(plain + b"\x04")[0].body == plain
    assert after_greeting(set_encodings(EXTENDED_BUTTONS), longer)[1].body == longer
    assert after_greeting(set_encodings(EXTENDED_BUTTONS), b"\x05\x01\x00\x03\x00\x04")[1].body == b"\x05\x01\x00\x03\x00\x04"
    assert after_greeting(set_encodings(EXTENDED_BUTTONS), set_encodings(), plain)[2].body == plain


def test_the_encodings_are_read_out_of_their_message() -> None:
    assert encodings_of(set_encodings(7, -316)) == [7, -316]
