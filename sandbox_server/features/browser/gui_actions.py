"""The 16 GUI actions in the contract's form. Coordinates are pixels of the display, and may be fractions."""

from typing import Annotated, Literal

from pydantic import Field, RootModel

from sandbox_server.core import Model

MAX_TEXT = 1_000_000
MAX_WAIT = 300.0
MAX_SCROLL = 10_000

type Button = Literal["left", "right", "middle"]


class MoveToAction(Model):
    action_type: Literal["MOVE_TO"] = "MOVE_TO"
    x: float
    """Target x-coordinate."""
    y: float
    """Target y-coordinate."""


class MoveRelAction(Model):
    action_type: Literal["MOVE_REL"] = "MOVE_REL"
    x_offset: float
    """Distance to the right of its position."""
    y_offset: float
    """Distance below its position."""


class ClickAction(Model):
    action_type: Literal["CLICK"] = "CLICK"
    x: float | None = None
    """Position; null for the pointer's position."""
    y: float | None = None
    button: Button = "left"
    num_clicks: Literal[1, 2, 3] = 1


class MouseDownAction(Model):
    action_type: Literal["MOUSE_DOWN"] = "MOUSE_DOWN"
    button: Button = "left"


class MouseUpAction(Model):
    action_type: Literal["MOUSE_UP"] = "MOUSE_UP"
    button: Button = "left"


class RightClickAction(Model):
    action_type: Literal["RIGHT_CLICK"] = "RIGHT_CLICK"
    x: float | None = None
    """Position; null for the pointer's position."""
    y: float | None = None


class DoubleClickAction(Model):
    action_type: Literal["DOUBLE_CLICK"] = "DOUBLE_CLICK"
    x: float | None = None
    """Position; null for the pointer's position."""
    y: float | None = None


class DragToAction(Model):
    action_type: Literal["DRAG_TO"] = "DRAG_TO"
    x: float
    """Target x-coordinate. The left button is held on the way."""
    y: float
    """Target y-coordinate."""


class DragRelAction(Model):
    action_type: Literal["DRAG_REL"] = "DRAG_REL"
    x_offset: float
    """Distance to the right of its position. The left button is held on the way."""
    y_offset: float
    """Distance below its position."""


class ScrollAction(Model):
    action_type: Literal["SCROLL"] = "SCROLL"
    dx: Annotated[int, Field(ge=-MAX_SCROLL, le=MAX_SCROLL)] = 0
    """Approximate pixels to the right; negative is left."""
    dy: Annotated[int, Field(ge=-MAX_SCROLL, le=MAX_SCROLL)] = 0
    """Approximate pixels down; negative is up."""


class TypingAction(Model):
    action_type: Literal["TYPING"] = "TYPING"
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    use_clipboard: bool | None = True
    """Whether text that is hard to type may be pasted: long, of several lines, or with characters that have no key."""


class PressAction(Model):
    action_type: Literal["PRESS"] = "PRESS"
    key: str
    """A key's name, such as `enter`, `f5`, `ctrl`, or a character."""


class KeyDownAction(Model):
    action_type: Literal["KEY_DOWN"] = "KEY_DOWN"
    key: str
    """A key's name, or a character. It is held until KEY_UP, or for a minute without another action."""


class KeyUpAction(Model):
    action_type: Literal["KEY_UP"] = "KEY_UP"
    key: str
    """A key's name, or a character."""


class HotkeyAction(Model):
    action_type: Literal["HOTKEY"] = "HOTKEY"
    keys: Annotated[list[str], Field(min_length=1, max_length=10)]
    """Keys that are pressed in this order and released in reverse."""


class WaitAction(Model):
    action_type: Literal["WAIT"] = "WAIT"
    duration: Annotated[float, Field(gt=0, le=MAX_WAIT)]
    """Seconds to wait."""


type AnyAction = Annotated[
    MoveToAction
    | MoveRelAction
    | ClickAction
    | MouseDownAction
    | MouseUpAction
    | RightClickAction
    | DoubleClickAction
    | DragToAction
    | DragRelAction
    | ScrollAction
    | TypingAction
    | PressAction
    | KeyDownAction
    | KeyUpAction
    | HotkeyAction
    | WaitAction,
    Field(discriminator="action_type"),
]


class Action(RootModel[AnyAction]):
    """One action. `action_type` tells which."""
