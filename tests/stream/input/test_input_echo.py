"""The input echo: single and double clicks, drags with their path, hotkeys by name, and of text nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.stream.input.input_echo import (
    DRAGGED,
    KEYS,
    LEFT,
    MAX_ECHOES,
    MAX_PATH,
    RIGHT,
    TYPED,
    UP,
    EchoedInput,
    InputEchoLog,
    hotkey,
)
from tests.tables import table_test

CTRL, SHIFT, ALTGR = 0xFFE3, 0xFFE1, 0xFE03


def told(log: InputEchoLog) -> list[EchoedInput]:
    return list(log.after(0)[1])


def test_clicks_in_a_row_are_counted() -> None:
    log = InputEchoLog()
    for button, when in ((LEFT, 0), (LEFT, 100), (LEFT, 200), (LEFT, 300), (RIGHT, 310), (LEFT, 1000)):
        log.pressed(button, (5, 5), when)
        log.released(button, (5, 5))
    log.pressed(LEFT, (50, 5), 1010)
    assert [(echoed.what, echoed.times) for echoed in told(log)] == [
        (LEFT, 1),
        (LEFT, 2),
        (LEFT, 3),
        (LEFT, 1),
        (RIGHT, 1),
        (LEFT, 1),
        (LEFT, 1),
    ]


def test_a_drag_has_its_way_and_a_hand_that_trembles_drags_nothing() -> None:
    log = InputEchoLog()
    log.pressed(LEFT, (0, 0), 0)
    for place in ((2, 1), (1, 0)):
        log.moved(place)
    log.released(LEFT, (1, 0))
    log.pressed(LEFT, (10, 10), 1000)
    for x in range(11, 500):
        log.moved((x, 10))
    log.released(LEFT, (500, 10))
    click, press, drag = told(log)
    assert (click.what, press.what, drag.what) == (LEFT, LEFT, DRAGGED)
    assert (drag.path[0], drag.path[-1]) == ((10, 10), (500, 10))
    assert len(drag.path) <= MAX_PATH + 1


def test_many_notches_are_one_turn() -> None:
    log = InputEchoLog()
    for when in range(0, 79, 10):
        log.pressed(UP, (1, 1), when)
    log.pressed(UP + 1, (1, 1), 79)
    assert [echoed.what for echoed in told(log)] == [UP, UP + 1]


def test_text_is_told_as_typing_whatever_and_however_long_it_is() -> None:
    log = InputEchoLog()
    for code, key in enumerate([ord("h"), SHIFT, ord("u"), 0xFF08, 0x20, 0x10000E9, 0xFFB1, 0, ALTGR, ord("q")]):
        log.key_pressed(code, key, (1, 1), 10 * code)
    assert told(log) == [EchoedInput(TYPED, (1, 1))]


@table_test(
    [
        ({"Ctrl"}, ord("s"), "Ctrl+S"),
        ({"Shift", "Ctrl"}, ord("t"), "Ctrl+Shift+T"),
        (set(), 0xFF0D, "Enter"),
        ({"Shift"}, 0xFE20, "Shift+Tab"),
        ({"Ctrl"}, 0xFF08, "Ctrl+Backspace"),
        (set(), 0xFFC2, "F5"),
        ({"Alt"}, 0xFF51, "Alt+←"),
        ({"Shift"}, ord("a"), None),
        ({"AltGr"}, ord("q"), None),
        ({"Ctrl", "AltGr"}, ord("q"), None),
        ({"Ctrl"}, 0x10000E9, None),
        (set(), 0x20, None),
    ]
)
def test_hotkeys_have_names_and_text_has_none(modifiers: set[str], keysym: int, name: str | None) -> None:
    assert hotkey(frozenset(modifiers), keysym) == name


def test_a_key_that_was_let_go_is_part_of_no_hotkey() -> None:
    log = InputEchoLog()
    log.key_pressed(37, CTRL, (0, 0), 0)
    log.key_pressed(39, ord("s"), (0, 0), 1)
    log.key_released(37)
    log.key_pressed(39, ord("s"), (0, 0), 2)
    assert [echoed.what for echoed in told(log)] == [KEYS, TYPED]


@given(st.characters())
def test_no_character_alone_is_ever_told(character: str) -> None:
    for keysym in (ord(character), 0x01000000 | ord(character)):
        if keysym <= 0xFF or keysym >= 0x01000000:
            assert hotkey(frozenset({"Shift"}), keysym) is None


@pytest.mark.parametrize(
    ("told", "echoed"),
    [
        ({"kind": "left", "times": 2, "x": 5, "y": 6}, EchoedInput(LEFT, (5, 6), 2)),
        ({"kind": "up", "x": 5, "y": 6}, EchoedInput(UP, (5, 6))),
        ({"kind": "key", "key": "s", "modifiers": 2, "x": 0, "y": 0}, EchoedInput(KEYS, (0, 0), keys="Ctrl+S")),
        ({"kind": "key", "key": "ArrowDown", "modifiers": 8, "x": 0, "y": 0}, EchoedInput(KEYS, (0, 0), keys="Shift+↓")),
        ({"kind": "key", "key": "Backspace", "modifiers": 0, "x": 0, "y": 0}, EchoedInput(TYPED, (0, 0))),
        ({"kind": "key", "key": "Control", "modifiers": 2, "x": 0, "y": 0}, None),
        ({"kind": "typed", "x": 0, "y": 0}, EchoedInput(TYPED, (0, 0))),
        ({"kind": "left", "times": 1, "x": -5, "y": 70000}, None),
        ({"kind": "left", "times": -7, "x": 5, "y": 6}, EchoedInput(LEFT, (5, 6), 1)),
        ({"kind": "left", "times": 1 << 40, "x": 5, "y": 6}, EchoedInput(LEFT, (5, 6), 3)),
    ],
)
def test_what_is_done_on_a_page_is_told_as_what_is_done_on_the_screen(told: dict[str, object], echoed: EchoedInput | None) -> None:
    log = InputEchoLog()
    log.on_page(told, 1000)
    assert log.after(0)[1] == ((echoed,) if echoed else ())


def test_who_comes_late_is_told_the_latest() -> None:
    log = InputEchoLog()
    for when in range(MAX_ECHOES * 2):
        log.pressed(LEFT, (when % 2 * 50, 0), when * 1000)
    number, latest = log.after(0)
    assert (number, len(latest)) == (MAX_ECHOES * 2, MAX_ECHOES)
    assert log.after(number) == (number, ())
    assert len(log.after(number - 3)[1]) == 3
