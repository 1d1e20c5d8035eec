from typing import Any

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.browser.computer_use.model_space import ModelSpace
from sandbox_server.features.browser.computer_use.openai import KNOWN, OpenAIAction, gui_actions_of, result
from tests.features.browser.computer_use.conftest import written
from tests.tables import table_test

SPACE = ModelSpace((640, 512), (1280, 1024))


def done(**given: Any) -> list[str]:
    return written(gui_actions_of(OpenAIAction(**given), SPACE, ("action",)))


@table_test(
    [
        ({"type": "screenshot"}, []),
        ({"type": "click", "x": 10, "y": 20}, ["MOVE_TO 20 40", "CLICK None None left 1"]),
        ({"type": "click", "x": 10, "y": 20, "button": "wheel"}, ["MOVE_TO 20 40", "CLICK None None middle 1"]),
        ({"type": "click", "x": 10, "y": 20, "button": "back"}, ["MOVE_TO 20 40", "HOTKEY ['alt', 'left']"]),
        ({"type": "click", "x": 0, "y": 0, "keys": ["CTRL"]}, ["KEY_DOWN CTRL", "MOVE_TO 0 0", "CLICK None None left 1", "KEY_UP CTRL"]),
        ({"type": "double_click", "x": 10, "y": 20}, ["MOVE_TO 20 40", "CLICK None None left 2"]),
        ({"type": "move", "x": 10, "y": 20}, ["MOVE_TO 20 40"]),
        ({"type": "scroll", "x": 10, "y": 20, "scroll_y": -100}, ["MOVE_TO 20 40", "SCROLL 0 -200"]),
        (
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 1, "y": 1}, {"x": 2, "y": 1}]},
            ["MOVE_TO 0 0", "MOUSE_DOWN left", "MOVE_TO 2 2", "MOVE_TO 4 2", "MOUSE_UP left"],
        ),
        ({"type": "keypress", "keys": ["CTRL", "L"]}, ["HOTKEY ['CTRL', 'L']"]),
        ({"type": "type", "text": "hi"}, ["TYPING hi True"]),
        ({"type": "wait"}, ["WAIT 2"]),
    ]
)
def test_each_action_is_done_on_the_screen(given: dict[str, Any], expected: list[str]) -> None:
    assert done(**given) == expected


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"type": "fly"}, "action.type: there is no action 'fly'"),
        ({"type": "click", "x": 1}, "action.y: this action needs it"),
        ({"type": "click", "x": 1, "y": 1, "button": "nose"}, "action.button: there is no action 'nose'"),
        ({"type": "drag", "path": []}, "action.path"),
        ({"type": "drag", "path": [{"x": 1, "y": 1}, {"x": 9999, "y": 1}]}, "action.path.1"),
        ({"type": "keypress"}, "action.keys"),
        ({"type": "type"}, "action.text"),
    ],
)
def test_what_makes_no_sense_names_its_field(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        done(**given)
    assert why in str(refused.value)


def test_every_known_action_is_known() -> None:
    for action in KNOWN:
        done(type=action, x=1, y=1, text="a", keys=["a"], path=[{"x": 1, "y": 1}])


def test_the_item_names_its_call() -> None:
    assert result("x", "c") == {
        "type": "computer_call_output",
        "call_id": "c",
        "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,x"},
    }
