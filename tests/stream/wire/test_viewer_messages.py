"""The messages of a viewer: parsed as they were serialized, and refused where they are malformed."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream import wire
from sandbox_server.stream.wire import (
    Ack,
    Clip,
    Copied,
    Fit,
    FromViewer,
    Hello,
    Key,
    Listens,
    MalformedMessage,
    Missed,
    Ping,
    PointerInput,
    Resume,
    Signal,
    Spoken,
    TextInput,
    Visible,
    Wheel,
    Whole,
    parse,
    serialize,
)
from tests.tables import table_test

MESSAGES: list[FromViewer] = [
    Hello(1, videos=True),
    Ack(4_000_000_000, 17, 9),
    PointerInput(1279, 1023, 5),
    Wheel(-120, 240),
    Key(0x1000041, down=True),
    TextInput("日本語"),
    Copied("text\nof two lines"),
    Ping(7),
    Visible(visible=False),
    Whole(),
    Listens(listens=True),
    Missed(26),
    Spoken(4_000_000_000, b"\xf8\xff\xfe"),
    Clip({"text/plain": b"bold", "text/html": b"<b>bold</b>"}),
    Signal("an offer"),
    Resume(4_000_000_000, 70_000),
    Fit(1917, 1003),
]
WIRE_NAMES = {PointerInput: "Point", TextInput: "Text"}
"""Messages whose class is named otherwise than the protocol names them."""
VECTORS = json.loads((Path(__file__).parent.parent / "vectors.json").read_text("utf-8"))


def wire_name(message: FromViewer) -> str:
    """The protocol's name of a message."""
    return WIRE_NAMES.get(type(message), type(message).__name__)


@table_test(MESSAGES)
def test_what_a_viewer_says_is_understood(message: FromViewer) -> None:
    assert parse(serialize(message)) == message


def test_every_message_has_its_golden_bytes() -> None:
    assert {wire_name(message): serialize(message).hex() for message in MESSAGES} == VECTORS["said"]


@table_test(
    [
        b"",
        b"\x00",
        b"\x63",
        b"\x03\x01",
        serialize(Ping(1)) + b"!",
        b"\x06\xff\xfe",
        b"\x0d\x01\x09\x00\x00\x00short",
        b"\x0d\x01\x01\x00\x00\x00a\x01\x01\x00\x00\x00b",
        b"\x0d\x03\x05\x00\x00\x00<svg>",
        b"\x0d\x04\x00\x00\x00\x00",
        b"\x06" + bytes(wire.MAX_TYPED + 1),
        b"\x07" + bytes(wire.MAX_TEXT + 1),
        b"\x0b" + bytes(wire.MAX_SIGNAL + 1),
        b"\x11" + bytes(4),
        b"\x11" + bytes(4 + wire.MAX_SPOKEN + 1),
        bytes(wire.MAX_UP + 1),
    ]
)
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(MalformedMessage):
        parse(message)


@settings(deadline=None, database=None)
@given(st.binary(max_size=40))
def test_bytes_are_either_a_message_or_refused(message: bytes) -> None:
    try:
        parsed = parse(message)
    except MalformedMessage:
        return
    assert parse(serialize(parsed)) == parsed
