"""Anthropic's actions: the tool `computer` (20241022 to 20251124), whose input names the action, and the toolset, whose tools do.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/computer-use-tool
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.features.browser import gui_actions as gui
from sandbox_server.features.browser.computer_use.gestures import holding, keys_of, move, scroll
from sandbox_server.features.browser.computer_use.model_space import ModelSpace, Place, needed, unknown
from sandbox_server.features.browser.gui_actions import AnyAction

NOTCH_PIXELS = 100
"""How far one step of `scroll_amount` goes."""
type Coordinate = Annotated[list[float], Field(min_length=2, max_length=2)]
CLICKS: dict[str, tuple[gui.Button, Literal[1, 2, 3]]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
LOOKS = ("screenshot", "zoom", "cursor_position")
"""What does nothing and answers what is there."""
KNOWN = (*CLICKS, *LOOKS, "mouse_move", "left_mouse_down", "left_mouse_up", "left_click_drag", "scroll", "type", "key", "hold_key", "wait")


class AnthropicInput(Model):
    action: str = ""
    """`left_click`, `type`, `key`, `scroll`, `zoom` and the others of the tool; left out where the tool's `name` is the action."""
    coordinate: Coordinate | None = None
    """The point, as x and y."""
    start_coordinate: Coordinate | None = None
    """Where a drag begins; null for the pointer's position."""
    text: Annotated[str, Field(max_length=gui.MAX_TEXT)] | None = None
    """What is typed; the keys of `key` and `hold_key`, such as `ctrl+s`; of clicks and `scroll` the keys that are held meanwhile."""
    duration: Annotated[float, Field(ge=0, le=gui.MAX_WAIT)] | None = None
    """Seconds of `wait` and `hold_key`."""
    scroll_direction: Literal["up", "down", "left", "right"] | None = None
    scroll_amount: Annotated[int, Field(ge=0, le=gui.MAX_SCROLL // NOTCH_PIXELS)] | None = None
    """Steps of the wheel."""
    region: Annotated[list[float], Field(min_length=4, max_length=4)] | None = None
    """What `zoom` shows: x0, y0, x1, y1."""
    repeat: Annotated[int, Field(ge=1, le=100)] = 1
    """How often `key` presses."""


def gui_actions_of(given: AnthropicInput, space: ModelSpace, place: Place) -> list[AnyAction]:
    """The actions on the screen; none for what only looks. Raises InvalidFields."""
    action, where = given.action, (*place, "coordinate")
    if action in LOOKS:
        return []
    held = keys_of(given.text) if given.text else []
    if action in CLICKS:
        button, times = CLICKS[action]
        return holding(held, [*_move(given.coordinate, space, where), gui.ClickAction(button=button, num_clicks=times)])
    match action:
        case "mouse_move":
            return _move(needed(where, given.coordinate), space, where)
        case "left_mouse_down":
            return [gui.MouseDownAction()]
        case "left_mouse_up":
            return [gui.MouseUpAction()]
        case "left_click_drag":
            end: list[float] = needed(where, given.coordinate)
            x, y = space.point(end[0], end[1], where)
            start = _move(given.start_coordinate, space, (*place, "start_coordinate"))
            return holding(held, [*start, gui.DragToAction(x=x, y=y)])
        case "scroll":
            return holding(held, [*_move(given.coordinate, space, where), _scroll(given, place)])
        case "type":
            return [gui.TypingAction(text=needed((*place, "text"), given.text or None))]
        case "key":
            return [gui.HotkeyAction(keys=_keys(given, place))] * given.repeat
        case "hold_key":
            return holding(_keys(given, place), [_wait(given, place)])
        case "wait":
            return [_wait(given, place)]
    raise unknown((*place, "action"), action, KNOWN)


def _keys(given: AnthropicInput, place: Place) -> list[str]:
    return keys_of(needed((*place, "text"), given.text or None))


def _wait(given: AnthropicInput, place: Place) -> gui.WaitAction:
    return gui.WaitAction(duration=needed((*place, "duration"), given.duration or None))


def _move(coordinate: list[float] | None, space: ModelSpace, place: Place) -> list[AnyAction]:
    return [] if coordinate is None else [move(coordinate[0], coordinate[1], space, place)]


def _scroll(given: AnthropicInput, place: Place) -> gui.ScrollAction:
    direction: str = needed((*place, "scroll_direction"), given.scroll_direction)
    far = needed((*place, "scroll_amount"), given.scroll_amount) * NOTCH_PIXELS
    return scroll(direction, far, far)


def result(content: list[dict[str, Any]], identity: str | None) -> dict[str, Any]:
    """The block that answers a use of the tool."""
    return {"type": "tool_result", **({"tool_use_id": identity} if identity else {}), "content": content}


def image(data: str) -> dict[str, Any]:
    """A picture in PNG, in Base64, as a part of such a block."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
