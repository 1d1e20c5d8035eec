from typing import Any

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.browser.computer_use.anthropic import KNOWN, AnthropicInput, gui_actions_of, image, result
from sandbox_server.features.browser.computer_use.model_space import ModelSpace
from tests.features.browser.computer_use.conftest import written
from tests.tables import table_test

SPACE = ModelSpace((640, 512), (1280, 1024))


def done(**given: Any) -> list[str]:
    return written(gui_actions_of(AnthropicInput(**given), SPACE, ("input",)))


@table_test(
    [
        ({"action": "screenshot"}, []),
        ({"action": "mouse_move", "coordinate": [10, 20]}, ["MOVE_TO 20 40"]),
        ({"action": "left_click", "coordinate": [10, 20]}, ["MOVE_TO 20 40", "CLICK None None left 1"]),
        ({"action": "middle_click"}, ["CLICK None None middle 1"]),
        ({"action": "double_click"}, ["CLICK None None left 2"]),
        ({"action": "triple_click"}, ["CLICK None None left 3"]),
        (
            {"action": "right_click", "text": "ctrl+shift"},
            ["KEY_DOWN ctrl", "KEY_DOWN shift", "CLICK None None right 1", "KEY_UP shift", "KEY_UP ctrl"],
        ),
        ({"action": "left_mouse_down"}, ["MOUSE_DOWN left"]),
        ({"action": "left_mouse_up"}, ["MOUSE_UP left"]),
        ({"action": "left_click_drag", "start_coordinate": [0, 0], "coordinate": [10, 20]}, ["MOVE_TO 0 0", "DRAG_TO 20 40"]),
        ({"action": "scroll", "coordinate": [1, 1], "scroll_direction": "up", "scroll_amount": 3}, ["MOVE_TO 2 2", "SCROLL 0 -300"]),
        ({"action": "scroll", "scroll_direction": "right", "scroll_amount": 1}, ["SCROLL 100 0"]),
        ({"action": "type", "text": "a\nb"}, ["TYPING a\nb True"]),
        ({"action": "key", "text": "ctrl+s", "repeat": 2}, ["HOTKEY ['ctrl', 's']"] * 2),
        (
            {"action": "hold_key", "text": "shift+a", "duration": 1.5},
            ["KEY_DOWN shift", "KEY_DOWN a", "WAIT 1.5", "KEY_UP a", "KEY_UP shift"],
        ),
        ({"action": "wait", "duration": 2}, ["WAIT 2"]),
    ]
)
def test_each_action_is_done_on_the_screen(given: dict[str, Any], expected: list[str]) -> None:
    assert done(**given) == expected


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"action": "fly"}, "input.action: there is no action 'fly'; there are left_click, "),
        ({"action": ""}, "there is no action ''"),
        ({"action": "mouse_move"}, "input.coordinate: this action needs it"),
        ({"action": "type", "text": ""}, "input.text"),
        ({"action": "key"}, "input.text"),
        ({"action": "wait", "duration": 0}, "input.duration"),
        ({"action": "scroll", "scroll_direction": "up"}, "input.scroll_amount"),
        ({"action": "scroll", "scroll_amount": 1}, "input.scroll_direction"),
        ({"action": "left_click", "coordinate": [641, 0]}, "outside of the picture"),
    ],
)
def test_what_makes_no_sense_names_its_field(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        done(**given)
    assert why in str(refused.value)


def test_every_known_action_is_known() -> None:
    everything = {"coordinate": [1, 1], "text": "a", "duration": 1, "scroll_direction": "up", "scroll_amount": 1}
    for action in KNOWN:
        done(action=action, **everything)


def test_the_block_names_its_use() -> None:
    assert result([image("x")], "t")["tool_use_id"] == "t"
    assert "tool_use_id" not in result([], None)
