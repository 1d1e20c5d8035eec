"""Input echo of DevTools clients: where they use mouse and keyboard on the screen. Typed text is left out.

Without followers nothing is computed. Input is left out if its place on the screen is unknown: on pages that are not
visible, and on pages with an overridden viewport.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.messages import DevtoolsCommand, Object
from sandbox_server.core.errors import Failure

MAX_WAITING = 32
"""Limit of inputs whose place is not known yet. Further ones are left out."""
PLACE_SECONDS = 1.0
"""Seconds that a page may take to report its position. Later reports would be outdated."""
_WINDOW = """document.visibilityState === "visible" &&
    [screenX, screenY + outerHeight - innerHeight * devicePixelRatio, devicePixelRatio * visualViewport.scale]"""
"""As in `drivers.browser.on_screen`, plus the pinch zoom: clients give coordinates in CSS pixels of the page."""
WORLD = "acts"
_WITH_ALT_CONTROL_OR_META = 1 | 2 | 4

type _Waiting = asyncio.Queue[tuple[str, Object]]


class DevtoolsInputEcho:
    """The input of clients on pages. `link` returns the connection to the running browser, or None."""

    def __init__(self, link: Callable[[], BrowserLink | None]) -> None:
        self._link = link
        self._followers: set[_Waiting] = set()

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Record a command that a client sent to a session."""
        if not self._followers or not command.method.startswith("Input.") or (act := act_of(command)) is None:
            return
        for waiting in self._followers:
            with suppress(asyncio.QueueFull):
                waiting.put_nowait((session, act))

    async def follow(self) -> AsyncIterator[Object]:
        """Yield each input from now on: `kind`, and `x` and `y` in pixels of the screen, which are 0 for keys."""
        waiting: _Waiting = asyncio.Queue(MAX_WAITING)
        self._followers.add(waiting)
        try:
            while True:
                session, act = await waiting.get()
                if told := await self._placed(session, act):
                    yield told
        finally:
            self._followers.discard(waiting)

    async def _placed(self, session: str, act: Object) -> Object | None:
        link = self._link()
        if link is None:
            return None
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                window = await _window(link, session)
        except (Failure, TimeoutError):
            return None
        match window:
            case [_, _, _] if "x" not in act:
                return act | {"x": 0, "y": 0}
            case [int() | float() as left, int() | float() as top, int() | float() as scale] if not link.overridden(session):
                at = left + act["x"] * scale, top + act["y"] * scale
                return act | {"x": round(at[0]), "y": round(at[1])} if all(map(math.isfinite, at)) else None
        return None


async def _window(link: BrowserLink, session: str) -> object:
    """Return the page's position on the screen, read in an isolated world that the page cannot see."""
    tree = await link.command("Page.getFrameTree", session=session)
    frame = tree["frameTree"]["frame"]["id"]
    world = await link.command("Page.createIsolatedWorld", session=session, frameId=frame, worldName=WORLD)
    context = world["executionContextId"]
    found = await link.command("Runtime.evaluate", session=session, expression=_WINDOW, contextId=context, returnByValue=True)
    return found["result"].get("value")


def act_of(command: DevtoolsCommand) -> Object | None:
    """Return what a command does, with its coordinates on the page if any; None if it has no visible input.

    Parameters that the browser will refuse are tolerated.
    """
    params: Any = command.parsed.get("params")
    if not isinstance(params, dict):
        return None
    if command.method == "Input.insertText":
        return {"kind": "typed"}
    match params:
        case {
            "type": "mousePressed",
            "button": "left" | "middle" | "right" as button,
            "x": int() | float() as x,
            "y": int() | float() as y,
        }:
            return {"kind": button, "times": int(_number(params, "clickCount")), "x": x, "y": y}
        case {"type": "mouseWheel", "x": int() | float() as x, "y": int() | float() as y}:
            return {"kind": _direction(_number(params, "deltaX"), _number(params, "deltaY")), "x": x, "y": y}
        case {"type": "keyDown" | "rawKeyDown", "key": str(key)}:
            modifiers = int(_number(params, "modifiers"))
            if modifiers & _WITH_ALT_CONTROL_OR_META or len(key) > 1:
                return {"kind": "key", "key": key, "modifiers": modifiers}
            return {"kind": "typed"}
    return None


def _number(params: Object, name: str) -> float:
    """Return a number from a client's parameters; 0 if it is missing."""
    value = params.get(name)
    return value if isinstance(value, int | float) and math.isfinite(value) else 0


def _direction(dx: float, dy: float) -> str:
    if abs(dx) > abs(dy):
        return "rightward" if dx > 0 else "leftward"
    return "down" if dy > 0 else "up"
