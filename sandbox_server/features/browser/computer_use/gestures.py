"""What the vendors' actions have in common: a move, a scroll into a direction, keys that are held meanwhile."""

from collections.abc import Sequence

from sandbox_server.features.browser import gui_actions as gui
from sandbox_server.features.browser.computer_use.model_space import ModelSpace, Place
from sandbox_server.features.browser.gui_actions import AnyAction


def keys_of(chord: str) -> list[str]:
    """The keys of a chord, such as `ctrl+s`; the key plus is `ctrl++`."""
    if chord.endswith("+"):
        return [*(key for key in chord[:-1].split("+") if key), "+"]
    return chord.split("+")


def holding(keys: Sequence[str], actions: Sequence[AnyAction]) -> list[AnyAction]:
    """The actions while keys are held."""
    return [*(gui.KeyDownAction(key=key) for key in keys), *actions, *(gui.KeyUpAction(key=key) for key in reversed(keys))]


def move(x: float, y: float, space: ModelSpace, place: Place) -> gui.MoveToAction:
    """A move to a point of the model. Raises InvalidFields."""
    to = space.point(x, y, place)
    return gui.MoveToAction(x=to[0], y=to[1])


def scroll(direction: str, across: int, down: int) -> gui.ScrollAction:
    """So many pixels of the screen `left` or `right`, or `up` or `down`."""
    sign = -1 if direction in ("up", "left") else 1
    return gui.ScrollAction(dx=sign * across) if direction in ("left", "right") else gui.ScrollAction(dy=sign * down)
