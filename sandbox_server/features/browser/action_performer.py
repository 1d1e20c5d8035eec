"""Performs GUI actions, after checking them against the current screen."""

import asyncio
from collections.abc import Sequence

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.keysyms import of_key
from sandbox_server.features.browser import gui_actions as wire
from sandbox_server.features.browser.gui_actions import AnyAction

type FieldPath = tuple[str | int, ...]
"""The position of an action in the request, for error messages."""


async def perform(desktop: Desktop, action: AnyAction, place: FieldPath = ()) -> None:
    """Perform one action.

    Raises InvalidFields, which names the field, for a point outside the screen or an unknown key, before anything is
    done. Raises Unavailable while the desktop is down.
    """
    match action:
        case wire.MoveToAction() | wire.MoveRelAction() | wire.DragToAction() | wire.DragRelAction():
            await _move(desktop, action, place)
        case wire.ClickAction() | wire.RightClickAction() | wire.DoubleClickAction():
            await _click(desktop, action, place)
        case wire.MouseDownAction(button=button):
            await desktop.pointer.press(button)
        case wire.MouseUpAction(button=button):
            await desktop.pointer.release(button)
        case wire.ScrollAction(dx=dx, dy=dy):
            await desktop.pointer.scroll(dx, dy)
        case wire.WaitAction(duration=duration):
            await asyncio.sleep(duration)
        case wire.TypingAction(text=text, use_clipboard=use_clipboard):
            await desktop.typist.type(text, use_clipboard=use_clipboard is not False)
        case _:
            await _keys(desktop, action, place)


async def _keys(desktop: Desktop, action: AnyAction, place: FieldPath) -> None:
    match action:
        case wire.PressAction(key=key):
            await desktop.keyboard.tap(_keysyms([key], (*place, "key")))
        case wire.KeyDownAction(key=key):
            await desktop.keyboard.press(*_keysyms([key], (*place, "key")))
        case wire.KeyUpAction(key=key):
            await desktop.keyboard.release(*_keysyms([key], (*place, "key")))
        case wire.HotkeyAction(keys=keys):
            await desktop.keyboard.tap(_keysyms(keys, (*place, "keys")))


async def _move(
    desktop: Desktop, action: wire.MoveToAction | wire.MoveRelAction | wire.DragToAction | wire.DragRelAction, place: FieldPath
) -> None:
    if isinstance(action, wire.MoveToAction | wire.DragToAction):
        x, y, names = action.x, action.y, ("x", "y")
    else:
        at = await desktop.pointer.position()
        x, y, names = at[0] + action.x_offset, at[1] + action.y_offset, ("x_offset", "y_offset")
    point = await _on_screen(desktop, x, y, [(*place, name) for name in names])
    if isinstance(action, wire.DragToAction | wire.DragRelAction):
        await desktop.pointer.drag(*point)
    else:
        await desktop.pointer.move(*point)


async def _click(desktop: Desktop, action: wire.ClickAction | wire.RightClickAction | wire.DoubleClickAction, place: FieldPath) -> None:
    if action.x is not None or action.y is not None:
        at = await desktop.pointer.position()
        x, y = at[0] if action.x is None else action.x, at[1] if action.y is None else action.y
        await desktop.pointer.move(*await _on_screen(desktop, x, y, [(*place, "x"), (*place, "y")]))
    if isinstance(action, wire.ClickAction):
        await desktop.pointer.click(action.button, action.num_clicks)
    else:
        right = isinstance(action, wire.RightClickAction)
        await desktop.pointer.click("right" if right else "left", 1 if right else 2)


async def _on_screen(desktop: Desktop, x: float, y: float, places: Sequence[FieldPath]) -> tuple[int, int]:
    """Return the pixel of a point. A point outside the screen is an error, never moved onto its edge."""
    size = await desktop.screen.size()
    problems = [
        {"loc": place, "msg": f"is {value:g}, outside the screen of {size[0]}x{size[1]} pixels", "type": "outside_screen"}
        for value, limit, place in zip((x, y), size, places, strict=True)
        if not 0 <= value < limit
    ]
    if problems:
        raise InvalidFields(problems)
    return int(x), int(y)


def _keysyms(names: Sequence[str], place: FieldPath) -> list[int]:
    found = [(number, name, of_key(name)) for number, name in enumerate(names)]
    problems = [
        {"loc": (*place, number) if place[-1] == "keys" else place, "msg": f"there is no key {name!r}", "type": "unknown_key"}
        for number, name, keysym in found
        if keysym is None
    ]
    if problems:
        raise InvalidFields(problems)
    return [keysym for _, _, keysym in found if keysym is not None]
