"""OpenAI's actions: `action` or `actions` of a `computer_call`.

https://platform.openai.com/docs/guides/tools-computer-use
"""

from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.features.browser import gui_actions as gui
from sandbox_server.features.browser.computer_use.gestures import holding, move
from sandbox_server.features.browser.computer_use.model_space import ModelSpace, Place, needed, unknown
from sandbox_server.features.browser.gui_actions import AnyAction

WAIT_SECONDS = 2.0
"""How long `wait` waits, which says no duration."""
MAX_POINTS = 1000
BUTTONS: dict[str, gui.Button] = {"left": "left", "right": "right", "wheel": "middle", "middle": "middle"}
BROWSER_BUTTONS = {"back": "left", "forward": "right"}
"""Buttons that only a browser knows: the arrow with Alt that does the same."""
KNOWN = ("click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type", "wait")


class OpenAIPoint(Model):
    x: float
    y: float


class OpenAIAction(Model):
    type: str
    """`click`, `double_click`, `drag`, `keypress`, `move`, `screenshot`, `scroll`, `type` or `wait`."""
    x: float | None = None
    y: float | None = None
    button: str = "left"
    """`left`, `right`, `wheel`, `back` or `forward`."""
    keys: Annotated[list[str], Field(max_length=10)] | None = None
    """Of `keypress`; of the mouse's actions the keys that are held meanwhile."""
    path: Annotated[list[OpenAIPoint], Field(max_length=MAX_POINTS)] | None = None
    """The points of `drag`."""
    scroll_x: Annotated[float, Field(ge=-gui.MAX_SCROLL, le=gui.MAX_SCROLL)] = 0
    scroll_y: Annotated[float, Field(ge=-gui.MAX_SCROLL, le=gui.MAX_SCROLL)] = 0
    text: Annotated[str, Field(max_length=gui.MAX_TEXT)] | None = None
    """What `type` types."""


def gui_actions_of(given: OpenAIAction, space: ModelSpace, place: Place) -> list[AnyAction]:
    """The actions on the screen; none for `screenshot`. Raises InvalidFields."""
    held = given.keys or []
    match given.type:
        case "screenshot":
            return []
        case "click" | "double_click":
            return holding(held, _click(given, space, place))
        case "move":
            return holding(held, [_move(given, space, place)])
        case "scroll":
            dx, dy = (max(-gui.MAX_SCROLL, min(far, gui.MAX_SCROLL)) for far in _distances(given, space))
            return holding(held, [_move(given, space, place), gui.ScrollAction(dx=dx, dy=dy)])
        case "drag":
            return holding(held, _drag(needed((*place, "path"), given.path or None), space, place))
        case "keypress":
            return [gui.HotkeyAction(keys=needed((*place, "keys"), given.keys or None))]
        case "type":
            return [gui.TypingAction(text=needed((*place, "text"), given.text or None))]
        case "wait":
            return [gui.WaitAction(duration=WAIT_SECONDS)]
    raise unknown((*place, "type"), given.type, KNOWN)


def _click(given: OpenAIAction, space: ModelSpace, place: Place) -> list[AnyAction]:
    move = _move(given, space, place)
    if given.button in BROWSER_BUTTONS:
        return [move, gui.HotkeyAction(keys=["alt", BROWSER_BUTTONS[given.button]])]
    if given.button not in BUTTONS:
        raise unknown((*place, "button"), given.button, (*BUTTONS, *BROWSER_BUTTONS))
    return [move, gui.ClickAction(button=BUTTONS[given.button], num_clicks=2 if given.type == "double_click" else 1)]


def _distances(given: OpenAIAction, space: ModelSpace) -> tuple[int, int]:
    return space.distance(given.scroll_x, 0), space.distance(given.scroll_y, 1)


def _move(given: OpenAIAction, space: ModelSpace, place: Place) -> gui.MoveToAction:
    return move(needed((*place, "x"), given.x), needed((*place, "y"), given.y), space, place)


def _drag(path: list[OpenAIPoint], space: ModelSpace, place: Place) -> list[AnyAction]:
    first, *others = (move(point.x, point.y, space, (*place, "path", number)) for number, point in enumerate(path))
    return [first, gui.MouseDownAction(), *others, gui.MouseUpAction()]


def result(data: str, identity: str | None) -> dict[str, Any]:
    """The item that answers a call, with a picture in PNG, in Base64."""
    shown = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{data}"}
    return {"type": "computer_call_output", **({"call_id": identity} if identity else {}), "output": shown}
