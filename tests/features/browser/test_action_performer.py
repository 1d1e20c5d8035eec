"""Each action does what it says, and one that cannot be done does nothing."""

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser.action_performer import perform
from sandbox_server.features.browser.gui_actions import Action
from tests.drivers.x11.conftest import Program
from tests.patience import until

pytestmark = pytest.mark.anyio


async def do(desktop: Desktop, **action: object) -> None:
    await perform(desktop, Action.model_validate(action).root)


async def test_the_pointer_is_moved_to_and_by(desktop: Desktop) -> None:
    await do(desktop, action_type="MOVE_TO", x=100.7, y=50)
    await do(desktop, action_type="MOVE_REL", x_offset=-10, y_offset=5)
    assert await desktop.pointer.position() == (90, 55)


async def test_clicks_go_where_they_should(desktop: Desktop, program: Program) -> None:
    await do(desktop, action_type="CLICK", x=30, y=40, button="middle", num_clicks=1)
    await do(desktop, action_type="RIGHT_CLICK")
    await do(desktop, action_type="DOUBLE_CLICK", y=60)
    expected = [(2, 30, 40)] + [(3, 30, 40)] + [(1, 30, 60)] * 2
    until(lambda: [event[1:] for event in program.events if event[0] == "press"] == expected)


async def test_buttons_and_keys_stay_down_until_they_are_let_go(desktop: Desktop, program: Program) -> None:
    await do(desktop, action_type="MOVE_TO", x=5, y=5)
    for action in ({"action_type": "MOUSE_DOWN"}, {"action_type": "KEY_DOWN", "key": "shift"}):
        await do(desktop, **action)
    assert desktop.holds
    for action in ({"action_type": "KEY_UP", "key": "shift"}, {"action_type": "MOUSE_UP"}):
        await do(desktop, **action)
    until(lambda: program.kinds() == ["press", "down", "up", "release"])
    assert not desktop.holds


async def test_drags_end_where_they_should(desktop: Desktop, program: Program) -> None:
    await do(desktop, action_type="MOVE_TO", x=10, y=10)
    await do(desktop, action_type="DRAG_TO", x=50, y=60)
    await do(desktop, action_type="DRAG_REL", x_offset=5, y_offset=-5)
    until(lambda: [event[2:] for event in program.events if event[0] == "release"] == [(50, 60), (55, 55)])


async def test_text_keys_and_hotkeys_arrive(desktop: Desktop, program: Program) -> None:
    await do(desktop, action_type="TYPING", text="hi 世界", use_clipboard=True)
    await do(desktop, action_type="PRESS", key="enter")
    until(lambda: program.text == "hi 世界\n")
    await do(desktop, action_type="HOTKEY", keys=["ctrl", "a"])
    until(lambda: any(event[:2] == ("down", ord("a")) and event[2] for event in program.events))


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"action_type": "MOVE_TO", "x": 3840, "y": 0}, "x"),
        ({"action_type": "CLICK", "x": 1, "y": -1}, "y"),
        ({"action_type": "DRAG_TO", "x": 1, "y": 2160}, "y"),
        ({"action_type": "MOVE_REL", "x_offset": -100000, "y_offset": 0}, "x_offset"),
        ({"action_type": "PRESS", "key": "nonsense"}, "key"),
        ({"action_type": "HOTKEY", "keys": ["ctrl", "nonsense"]}, "keys"),
    ],
)
async def test_what_cannot_be_done_names_its_field_and_does_nothing(
    desktop: Desktop, program: Program, action: dict[str, object], field: str
) -> None:
    before = await desktop.pointer.position()
    with pytest.raises(InvalidFields) as refused:
        await do(desktop, **action)
    assert refused.value.problems[0]["loc"][0] == field
    assert (await desktop.pointer.position(), program.events) == (before, [])
