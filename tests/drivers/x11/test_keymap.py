"""Spare keys keep their meaning as long as there are others."""

from sandbox_server.drivers.x11.keymap import SPARE, Keymap, Stroke

FIRST = 154
ROWS = [[], [], [ord("a"), ord("A")], [0xFF0D, 0], [0, 0], [0, 0]]
"""Of the keys from 154 on, of which 158 is no spare one."""
COPY = 141


def test_plain_and_shifted_keysyms_have_their_strokes() -> None:
    keymap = Keymap(FIRST, ROWS)
    assert [keymap.stroke(found) for found in (ord("a"), ord("A"), 0xFF0D)] == [Stroke(156), Stroke(156, shift=True), Stroke(157)]
    assert keymap.stroke(0xE9) is None


def test_the_spare_key_that_was_not_used_for_longest_is_used_again() -> None:
    keymap = Keymap(FIRST, ROWS)
    codes = [keymap.assign(keysym) for keysym in (0xE1, 0xE2, 0xE3)]
    assert len(set(codes)) == keymap.spare == 3
    keymap.stroke(0xE1)
    assert keymap.assign(0xE4) == codes[1]
    assert (keymap.stroke(0xE2), keymap.stroke(0xE1)) == (None, Stroke(codes[0]))


def test_spare_keys_that_were_given_a_meaning_before_are_known() -> None:
    keymap = Keymap(153, [[], [0x1004E16, 0x1004E16], [0xE9, 0xE9], [0xFF0D, 0xFF0D]])
    assert (keymap.spare, keymap.spare_unused, keymap.stroke(0xE9)) == (2, 0, Stroke(155))


def test_a_key_that_does_something_types_nothing() -> None:
    keymap = Keymap(COPY, [[], [], [0xE9, 0xE9]])
    assert COPY not in SPARE
    assert (keymap.spare, keymap.stroke(0xE9)) == (0, None)
