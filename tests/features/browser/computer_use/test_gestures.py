import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.browser.computer_use.gestures import holding, keys_of, move, scroll
from sandbox_server.features.browser.computer_use.model_space import ModelSpace
from sandbox_server.features.browser.gui_actions import ClickAction
from tests.features.browser.computer_use.conftest import written


def test_keys_of_a_chord() -> None:
    assert [keys_of(text) for text in ("a", "ctrl+s", "ctrl++", "+")] == [["a"], ["ctrl", "s"], ["ctrl", "+"], ["+"]]


def test_keys_are_held_meanwhile_and_let_go_in_reverse() -> None:
    assert written(holding(["ctrl", "shift"], [ClickAction()])) == [
        "KEY_DOWN ctrl",
        "KEY_DOWN shift",
        "CLICK None None left 1",
        "KEY_UP shift",
        "KEY_UP ctrl",
    ]


def test_a_move_is_scaled_and_one_outside_is_refused() -> None:
    space = ModelSpace((640, 512), (1280, 1024))
    assert written([move(10, 20, space, ("x",))]) == ["MOVE_TO 20 40"]
    with pytest.raises(InvalidFields):
        move(641, 0, space, ("x",))


def test_a_scroll_goes_one_way() -> None:
    assert written([scroll(way, 3, 5) for way in ("left", "right", "up", "down")]) == [
        "SCROLL -3 0",
        "SCROLL 3 0",
        "SCROLL 0 -5",
        "SCROLL 0 5",
    ]
