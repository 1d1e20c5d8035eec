"""The 16 GUI actions, as the contract has them on the wire: pixels of the display, which need not be whole."""

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
    """How far to the right of where it is."""
    y_offset: float
    """How far down from where it is."""


class ClickAction(Model):
    action_type: Literal["CLICK"] = "CLICK"
    x: float | None = None
    """Where; null for where the pointer is."""
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
    """Where; null for where the pointer is."""
    y: float | None = None


class DoubleClickAction(Model):
    action_type: Literal["DOUBLE_CLICK"] = "DOUBLE_CLICK"
    x: float | None = None
    """Where; null for where the pointer is."""
    y: float | None = None


class DragToAction(Model):
    action_type: Literal["DRAG_TO"] = "DRAG_TO"
    x: float
    """Target x-coordinate; the left button is held on the way."""
    y: float
    """Target y-coordinate."""


class DragRelAction(Model):
    action_type: Literal["DRAG_REL"] = "DRAG_REL"
    x_offset: float
    """How far to the right of where it is; the left button is held on the way."""
    y_offset: float
    """How far down from where it is."""


class ScrollAction(Model):
    action_type: Literal["SCROLL"] = "SCROLL"
    dx: Annotated[int, Field(ge=-MAX_SCROLL, le=MAX_SCROLL)] = 0
    """Pixels to the right, about; negative is to the left."""
    dy: Annotated[int, Field(ge=-MAX_SCROLL, le=MAX_SCROLL)] = 0
    """Pixels down, about; negative is up."""


class TypingAction(Model):
    action_type: Literal["TYPING"] = "TYPING"
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    use_clipboard: bool | None = True
    """Whether text that keys suit badly may be pasted: long, of several lines, or with characters that no key has."""


class PressAction(Model):
    action_type: Literal["PRESS"] = "PRESS"
    key: str
    """A key's name, as in `enter`, `f5`, `ctrl`, or a character."""


class KeyDownAction(Model):
    action_type: Literal["KEY_DOWN"] = "KEY_DOWN"
    key: str
    """A key's name, or a character; it is held until KEY_UP, or for a minute without another action."""


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
    """Duration to wait in seconds."""


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
    """One action, told apart by its `action_type`."""
