"""Gemini's actions: function calls whose points are on a grid of 1,000 by 1,000.

https://ai.google.dev/gemini-api/docs/computer-use
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.features.browser import gui_actions as gui
from sandbox_server.features.browser.computer_use.gestures import keys_of, move, scroll
from sandbox_server.features.browser.computer_use.model_space import ModelSpace, Place, needed, unknown
from sandbox_server.features.browser.gui_actions import AnyAction

GRID = 1000
WAIT_SECONDS = 5.0
SCROLL_GRID = 800
"""How far `scroll_document` goes, and `scroll_at` unless it says."""
SEARCH = "https://www.google.com"
KNOWN = (
    *("click_at", "hover_at", "type_text_at", "scroll_at", "scroll_document", "drag_and_drop", "key_combination"),
    *("navigate", "search", "go_back", "go_forward", "open_web_browser", "wait_5_seconds"),
)
type Grid = Annotated[float, Field(ge=0, le=GRID)]


class GeminiArguments(Model):
    x: Grid | None = None
    y: Grid | None = None
    destination_x: Grid | None = None
    destination_y: Grid | None = None
    text: Annotated[str, Field(max_length=gui.MAX_TEXT)] | None = None
    press_enter: bool = True
    """Of `type_text_at`."""
    clear_before_typing: bool = True
    """Of `type_text_at`."""
    keys: Annotated[str, Field(max_length=200)] | None = None
    """Of `key_combination`, such as `control+c`."""
    direction: Literal["up", "down", "left", "right"] | None = None
    magnitude: Grid = SCROLL_GRID
    """Of `scroll_at`."""
    url: Annotated[str, Field(max_length=100_000)] | None = None
    """Of `navigate`."""
    safety_decision: dict[str, Any] | None = None
    """What the model's own safety said; whoever calls acts on it."""


def address_of(name: str, given: GeminiArguments, place: Place) -> str | None:
    """The URL that a function opens; None for those that act on the screen. Raises InvalidFields."""
    if name == "search":
        return SEARCH
    return str(needed((*place, "url"), given.url or None)) if name == "navigate" else None


def gui_actions_of(name: str, given: GeminiArguments, space: ModelSpace, place: Place) -> list[AnyAction]:
    """The actions on the screen of a function that opens no URL. Raises InvalidFields."""
    if name in ("click_at", "hover_at", "type_text_at", "scroll_at", "drag_and_drop"):
        return [_move(given, space, place), *_there(name, given, space, place)]
    match name:
        case "open_web_browser":
            return []
        case "wait_5_seconds":
            return [gui.WaitAction(duration=WAIT_SECONDS)]
        case "scroll_document":
            return [_scroll(given, SCROLL_GRID, space, place)]
        case "key_combination":
            return [gui.HotkeyAction(keys=keys_of(needed((*place, "keys"), given.keys or None)))]
        case "go_back" | "go_forward":
            return [gui.HotkeyAction(keys=["alt", "left" if name == "go_back" else "right"])]
    raise unknown(("name",), name, KNOWN)


def _there(name: str, given: GeminiArguments, space: ModelSpace, place: Place) -> list[AnyAction]:
    match name:
        case "click_at":
            return [gui.ClickAction()]
        case "type_text_at":
            clear: list[AnyAction] = (
                [gui.HotkeyAction(keys=["ctrl", "a"]), gui.PressAction(key="backspace")] if given.clear_before_typing else []
            )
            typed = [gui.TypingAction(text=given.text)] if given.text else []
            enter = [gui.PressAction(key="enter")] if given.press_enter else []
            return [gui.ClickAction(), *clear, *typed, *enter]
        case "scroll_at":
            return [_scroll(given, given.magnitude, space, place)]
        case "drag_and_drop":
            x, y = needed((*place, "destination_x"), given.destination_x), needed((*place, "destination_y"), given.destination_y)
            end = space.point(x, y, place)
            return [gui.DragToAction(x=end[0], y=end[1])]
    return []


def _move(given: GeminiArguments, space: ModelSpace, place: Place) -> gui.MoveToAction:
    return move(needed((*place, "x"), given.x), needed((*place, "y"), given.y), space, place)


def _scroll(given: GeminiArguments, far: float, space: ModelSpace, place: Place) -> gui.ScrollAction:
    direction: str = needed((*place, "direction"), given.direction)
    return scroll(direction, space.distance(far, 0), space.distance(far, 1))


def result(name: str, data: str, url: str, identity: str | None) -> dict[str, Any]:
    """The part that answers a call, with a picture in PNG, in Base64, and the address of the page in front."""
    picture = {"inline_data": {"mime_type": "image/png", "data": data}}
    return {"function_response": {**({"id": identity} if identity else {}), "name": name, "response": {"url": url}, "parts": [picture]}}
