"""The keys and buttons that a client holds down through DevTools, to release when it may no longer act."""

from typing import Any

from sandbox_server.cdp.messages import DevtoolsCommand, Object

MAX_PRESSED = 64
"""Limit of keys and buttons that are tracked per client."""

_BUTTON, _KEY, _TOUCH = "Input.dispatchMouseEvent", "Input.dispatchKeyEvent", "Input.dispatchTouchEvent"
_KEPT = ("key", "code", "windowsVirtualKeyCode", "nativeVirtualKeyCode", "location")

type Release = tuple[str, str, Object]
"""A session id, and the method with its parameters that releases a key or button."""


class HeldInput:
    """Follows the input commands of one client."""

    def __init__(self) -> None:
        self._down: dict[tuple[str, str, object], Release] = {}

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Record a command that was sent to a session."""
        params: Any = command.parsed.get("params")
        if not isinstance(params, dict):
            return
        match command.method, params.get("type"):
            case "Input.dispatchMouseEvent", "mousePressed" | "mouseMoved":
                self._point(session, params)
            case "Input.dispatchMouseEvent", "mouseReleased":
                self._down.pop((session, _BUTTON, params.get("button")), None)
            case "Input.dispatchKeyEvent", "keyDown" | "rawKeyDown":
                kept = {name: params[name] for name in _KEPT if name in params}
                self._press(session, _KEY, str(params.get("code") or params.get("key")), {"type": "keyUp"} | kept)
            case "Input.dispatchKeyEvent", "keyUp":
                self._down.pop((session, _KEY, str(params.get("code") or params.get("key"))), None)
            case "Input.dispatchTouchEvent", "touchStart":
                self._press(session, _TOUCH, None, {"type": "touchCancel", "touchPoints": []})
            case "Input.dispatchTouchEvent", "touchEnd" | "touchCancel":
                self._down.pop((session, _TOUCH, None), None)

    def take(self) -> list[Release]:
        """Return the commands that release everything, last pressed first, and forget what was pressed."""
        releases = list(reversed(self._down.values()))
        self._down.clear()
        return releases

    def forget(self, session: str) -> None:
        """Forget a session that ended, and what was pressed in it."""
        self._down = {at: release for at, release in self._down.items() if at[0] != session}

    def _point(self, session: str, params: Object) -> None:
        """Note the pointer's position, at which buttons are released."""
        at = {"x": params.get("x", 0), "y": params.get("y", 0)}
        if params["type"] == "mousePressed":
            button = params.get("button")
            self._press(session, _BUTTON, button, {"type": "mouseReleased", "button": button, "clickCount": 1} | at)
        for place, (_, method, released) in list(self._down.items()):
            if place[0] == session and method == _BUTTON:
                self._down[place] = session, method, released | at

    def _press(self, session: str, method: str, which: object, release: Object) -> None:
        if isinstance(which, str | None) and len(self._down) < MAX_PRESSED:
            self._down[session, method, which] = session, method, release
