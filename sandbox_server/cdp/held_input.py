"""What a client holds down in pages by DevTools: to be released when the client may not act any more."""

from typing import Any

from sandbox_server.cdp.messages import DevtoolsCommand, Object

MAX_PRESSED = 64
"""Keys and buttons of one client that are kept in mind."""

_BUTTON, _KEY, _TOUCH = "Input.dispatchMouseEvent", "Input.dispatchKeyEvent", "Input.dispatchTouchEvent"
_KEPT = ("key", "code", "windowsVirtualKeyCode", "nativeVirtualKeyCode", "location")

type Release = tuple[str, str, Object]
"""A session, and the command for it that lets something go."""


class HeldInput:
    """Follows the input commands of one client."""

    def __init__(self) -> None:
        self._down: dict[tuple[str, str, object], Release] = {}

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Take a command that was sent to a session."""
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
        """What releases everything, the last first; it counts as released from then on."""
        releases = list(reversed(self._down.values()))
        self._down.clear()
        return releases

    def forget(self, session: str) -> None:
        """A session ended, and what it pressed with it."""
        self._down = {at: release for at, release in self._down.items() if at[0] != session}

    def _point(self, session: str, params: Object) -> None:
        """A button is released where the pointer is by then."""
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
