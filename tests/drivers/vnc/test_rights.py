"""What reaches the server from whom."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.vnc.messages import BadVncMessage, Messages, VncMessage
from sandbox_server.drivers.vnc.rights import EXTENDED_CLIPBOARD, INPUT, NOTICES_ONLY, VncRights, means_to_act
from tests.drivers.vnc.test_messages import GREETING, MESSAGES, cut_text, set_encodings
from tests.tables import table_test

KEY_DOWN = struct.pack(">BBxxI", 4, 1, 0x61)
KEY_UP = struct.pack(">BBxxI", 4, 0, 0x61)
QEMU_DOWN = struct.pack(">BBHII", 255, 0, 1, 0x62, 48)
QEMU_UP = struct.pack(">BBHII", 255, 0, 0, 0x62, 48)
PRESSED = struct.pack(">BBHH", 5, 1, 3, 4)
RELEASED = struct.pack(">BBHH", 5, 0, 3, 4)
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 640, 480)


def pass_on(rights: VncRights, data: bytes) -> bytes:
    """What goes on, and is taken note of, where nobody else has control."""
    passed = list(rights.admitted(data))
    for message in passed:
        rights.note(message)
    return b"".join(message.body for message in passed)


def greeted(*, control: bool) -> VncRights:
    rights = VncRights(control=control)
    assert pass_on(rights, GREETING) == GREETING
    return rights


def test_with_control_everything_passes_as_it_came() -> None:
    rights = greeted(control=True)
    for _, body in MESSAGES:
        assert pass_on(rights, body) == body


@table_test(MESSAGES)
def test_who_only_watches_asks_for_pictures_and_nothing_else(kind: str, body: bytes) -> None:
    if kind == "encodings":
        return
    assert pass_on(greeted(control=False), body) == (b"" if kind in INPUT else body)


def test_input_between_requests_is_left_out() -> None:
    assert pass_on(greeted(control=False), KEY_DOWN + UPDATE + PRESSED + UPDATE + cut_text(2, b"hi")) == UPDATE + UPDATE


def test_input_that_comes_in_pieces_is_left_out() -> None:
    rights = greeted(control=False)
    assert [pass_on(rights, bytes([byte])) for byte in KEY_DOWN] == [b""] * len(KEY_DOWN)
    assert pass_on(rights, UPDATE) == UPDATE


def test_who_only_watches_is_not_sent_what_was_copied() -> None:
    asked = set_encodings(7, EXTENDED_CLIPBOARD)
    assert pass_on(greeted(control=False), asked) == asked + NOTICES_ONLY
    assert cut_text(-8, struct.pack(">II", 0x09000001, 0)) == NOTICES_ONLY
    with pytest.raises(BadVncMessage, match="clipboard"):
        pass_on(greeted(control=False), set_encodings(7))


@given(st.lists(st.binary(max_size=80), max_size=30))
def test_whatever_a_watcher_sends_the_server_gets_no_input(pieces: list[bytes]) -> None:
    rights, passed = greeted(control=False), GREETING
    try:
        for piece in pieces:
            passed += pass_on(rights, piece)
    except BadVncMessage:
        pass
    assert not {message.kind for message in Messages().feed(passed.replace(NOTICES_ONLY, b""))} & INPUT


def test_held_keys_and_buttons_are_tracked() -> None:
    rights = greeted(control=True)
    for down, up in ((KEY_DOWN, KEY_UP), (QEMU_DOWN, QEMU_UP), (PRESSED, RELEASED)):
        pass_on(rights, down)
        assert rights.pressing
        pass_on(rights, up)
        assert not rights.pressing
    watching = greeted(control=False)
    pass_on(watching, KEY_DOWN)
    assert not watching.pressing


EXTENDED = struct.pack(">BBHHB", 5, 0x80, 3, 4, 1)
EXTENDED_UP = struct.pack(">BBHHB", 5, 0x80, 3, 4, 0)


@pytest.mark.parametrize(
    ("kind", "body", "acts"),
    [
        ("key", KEY_DOWN, True),
        ("key", KEY_UP, False),
        ("key", QEMU_DOWN, True),
        ("key", QEMU_UP, False),
        ("pointer", PRESSED, True),
        ("pointer", RELEASED, False),
        ("pointer", EXTENDED, True),
        ("pointer", EXTENDED_UP, False),
        ("clipboard", cut_text(2, b"hi"), False),
        ("resize", bytes([251, 1, 0, 9, 0, 9, 0, 0]), False),
    ],
)
def test_a_key_or_a_button_that_goes_down_means_to_act(kind: Any, body: bytes, acts: bool) -> None:
    assert means_to_act(VncMessage(kind, body)) == acts


def test_a_press_of_a_button_focuses_where_it_is_and_the_wheel_does_not() -> None:
    rights = greeted(control=True)

    def focusing(buttons: int, x: int) -> tuple[int, int] | None:
        [message] = rights.admitted(struct.pack(">BBHH", 5, buttons, x, 9))
        found = rights.focusing_press(message)
        rights.note(message)
        return found

    assert [focusing(buttons, x) for x, buttons in enumerate((0, 1, 1, 5, 0, 8, 0, 2))] == [
        None, (1, 9), None, (3, 9), None, None, None, (7, 9)
    ]  # fmt: skip
    [key] = rights.admitted(KEY_DOWN)
    assert rights.focusing_press(key) is None


def test_what_is_held_down_can_be_let_go_once() -> None:
    rights = greeted(control=True)
    pass_on(rights, KEY_DOWN + QEMU_DOWN + PRESSED)
    assert rights.let_go() == KEY_UP + QEMU_UP + RELEASED
    assert (rights.let_go(), rights.pressing) == (b"", False)
