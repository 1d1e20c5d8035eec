"""The actions' JSON is the contract's."""

import pytest
from pydantic import ValidationError

from sandbox_server.features.browser.gui_actions import Action


def test_the_type_tells_the_actions_apart() -> None:
    action = Action.model_validate({"action_type": "CLICK", "x": 200, "y": 200.5})
    assert action.root.model_dump() == {"action_type": "CLICK", "x": 200.0, "y": 200.5, "button": "left", "num_clicks": 1}


@pytest.mark.parametrize(
    "body",
    [
        {"action_type": "NONSENSE"},
        {"x": 1, "y": 2},
        {"action_type": "MOVE_TO", "x": 1},
        {"action_type": "TYPING", "text": ""},
        {"action_type": "HOTKEY", "keys": []},
        {"action_type": "WAIT", "duration": 0},
        {"action_type": "CLICK", "num_clicks": 4},
        {"action_type": "MOUSE_DOWN", "button": "fourth"},
    ],
)
def test_what_is_no_action_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Action.model_validate(body)
