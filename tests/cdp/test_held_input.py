"""What a client holds down by DevTools."""

from typing import Any

from sandbox_server.cdp import held_input as module
from sandbox_server.cdp.held_input import HeldInput
from sandbox_server.cdp.messages import DevtoolsCommand

S, T = "S" * 32, "T" * 32


def sent(pressed: HeldInput, method: str, session: str = S, **params: Any) -> None:
    pressed.note(session, DevtoolsCommand(1, f"Input.{method}", None, {"id": 1, "method": f"Input.{method}", "params": params}))


def test_a_button_is_released_where_the_pointer_is_by_then() -> None:
    pressed = HeldInput()
    sent(pressed, "dispatchMouseEvent", type="mousePressed", button="left", x=1, y=2)
    sent(pressed, "dispatchMouseEvent", type="mouseMoved", x=30, y=40)
    sent(pressed, "dispatchMouseEvent", T, type="mouseMoved", x=5, y=6)
    released = {"type": "mouseReleased", "button": "left", "clickCount": 1, "x": 30, "y": 40}
    assert pressed.take() == [(S, "Input.dispatchMouseEvent", released)]
    assert pressed.take() == [], "once"


def test_what_the_client_released_itself_is_not() -> None:
    pressed = HeldInput()
    sent(pressed, "dispatchMouseEvent", type="mousePressed", button="left", x=1, y=2)
    sent(pressed, "dispatchMouseEvent", type="mouseReleased", button="left", x=1, y=2)
    sent(pressed, "dispatchKeyEvent", type="keyDown", key="a", code="KeyA")
    sent(pressed, "dispatchKeyEvent", type="keyUp", key="a", code="KeyA")
    sent(pressed, "dispatchTouchEvent", type="touchStart", touchPoints=[{"x": 1, "y": 1}])
    sent(pressed, "dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert pressed.take() == []


def test_keys_are_released_the_last_first_by_what_they_were() -> None:
    pressed = HeldInput()
    sent(pressed, "dispatchKeyEvent", type="rawKeyDown", key="Shift", code="ShiftLeft", windowsVirtualKeyCode=16, text="x")
    sent(pressed, "dispatchKeyEvent", type="keyDown", key="a")
    sent(pressed, "dispatchTouchEvent", type="touchStart", touchPoints=[])
    assert [params for _, _, params in pressed.take()] == [
        {"type": "touchCancel", "touchPoints": []},
        {"type": "keyUp", "key": "a"},
        {"type": "keyUp", "key": "Shift", "code": "ShiftLeft", "windowsVirtualKeyCode": 16},
    ]


def test_a_session_that_ended_holds_nothing() -> None:
    pressed = HeldInput()
    sent(pressed, "dispatchKeyEvent", T, type="keyDown", key="a")
    pressed.forget(T)
    assert pressed.take() == []


def test_what_makes_no_sense_is_passed_over() -> None:
    pressed = HeldInput()
    pressed.note(S, DevtoolsCommand(1, "Input.dispatchMouseEvent", None, {"id": 1, "params": []}))
    sent(pressed, "dispatchMouseEvent", type="mousePressed", button={"left": 1})
    assert pressed.take() == []


def test_there_is_a_limit_to_what_is_kept() -> None:
    pressed = HeldInput()
    for number in range(module.MAX_PRESSED + 5):
        sent(pressed, "dispatchKeyEvent", type="keyDown", key=str(number))
    assert len(pressed.take()) == module.MAX_PRESSED
