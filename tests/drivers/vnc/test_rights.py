"""What reaches the server from whom."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.vnc.messages import BadMessage, Messages
from sandbox_server.drivers.vnc.rights import EXTENDED_CLIPBOARD, INPUT, NOTICES_ONLY, Rights
from tests.drivers.vnc.test_messages import GREETING, MESSAGES, cut_text, set_encodings

KEY_DOWN = struct.pack(">BBxxI", 4, 1, 0x61)
KEY_UP = struct.pack(">BBxxI", 4, 0, 0x61)
QEMU_DOWN = struct.pack(">BBHII", 255, 0, 1, 0x62, 48)
QEMU_UP = struct.pack(">BBHII", 255, 0, 0, 0x62, 48)
PRESSED = struct.pack(">BBHH", 5, 1, 3, 4)
RELEASED = struct.pack(">BBHH", 5, 0, 3, 4)
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)


def greeted(*, control: bool) -> Rights:
    rights = Rights(control=control)
    assert rights.pass_on(GREETING) == GREETING
    return rights


def test_with_control_everything_passes_as_it_came() -> None:
    rights = greeted(control=True)
    for _, body in MESSAGES:
        assert rights.pass_on(body) == body


@pytest.mark.parametrize(("kind", "body"), MESSAGES)
def test_who_only_watches_asks_for_pictures_and_nothing_else(kind: str, body: bytes) -> None:
    if kind == "encodings":
        return
    assert greeted(control=False).pass_on(body) == (b"" if kind in INPUT else body)


def test_input_between_requests_is_left_out() -> None:
    assert greeted(control=False).pass_on(KEY_DOWN + UPDATE + PRESSED + UPDATE + cut_text(2, b"hi")) == UPDATE + UPDATE


def test_input_that_comes_in_pieces_is_left_out() -> None:
    rights = greeted(control=False)
    assert [rights.pass_on(bytes([byte])) for byte in KEY_DOWN] == [b""] * len(KEY_DOWN)
    assert rights.pass_on(UPDATE) == UPDATE


def test_who_only_watches_is_not_sent_what_was_copied() -> None:
    asked = set_encodings(7, EXTENDED_CLIPBOARD)
    assert greeted(control=False).pass_on(asked) == asked + NOTICES_ONLY
    assert cut_text(-8, struct.pack(">II", 0x09000001, 0)) == NOTICES_ONLY
    with pytest.raises(BadMessage, match="clipboard"):
        greeted(control=False).pass_on(set_encodings(7))


@given(st.lists(st.binary(max_size=80), max_size=30))
def test_whatever_a_watcher_sends_the_server_gets_no_input(pieces: list[bytes]) -> None:
    rights, passed = greeted(control=False), GREETING
    try:
        for piece in pieces:
            passed += rights.pass_on(piece)
    except BadMessage:
        pass
    assert not {message.kind for message in Messages().feed(passed.replace(NOTICES_ONLY, b""))} & INPUT


def test_it_is_known_whether_something_is_held_down() -> None:
    rights = greeted(control=True)
    for down, up in ((KEY_DOWN, KEY_UP), (QEMU_DOWN, QEMU_UP), (PRESSED, RELEASED)):
        rights.pass_on(down)
        assert rights.pressing
        rights.pass_on(up)
        assert not rights.pressing
    watching = greeted(control=False)
    watching.pass_on(KEY_DOWN)
    assert not watching.pressing
