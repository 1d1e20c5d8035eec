"""What clients do on pages is told with its place on the screen, and what they type is not."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, unix_connect

from sandbox_server.cdp.input_echo import act_of
from sandbox_server.cdp.messages import DevtoolsCommand
from tests.patience import until
from tests.tables import table_test

BrowserServer = Any
Session = Any

OWN = {"X-Sandbox-Caller": "stream", "X-Sandbox-Scopes": "browser server"}
PRESSED = {"type": "mousePressed", "button": "left", "x": 1, "y": 2, "clickCount": 2}


def command(method: str, params: object) -> DevtoolsCommand:
    return DevtoolsCommand(1, method, None, {"params": params})


@table_test(
    [
        ("Input.dispatchMouseEvent", PRESSED, {"kind": "left", "times": 2, "x": 1, "y": 2}),
        ("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": 3, "y": 4, "deltaX": 0, "deltaY": -100}, {"kind": "up", "x": 3, "y": 4}),
        ("Input.dispatchMouseEvent", {"type": "mouseMoved", "button": "left", "x": 3, "y": 4}, None),
        ("Input.dispatchMouseEvent", {"type": "mousePressed", "button": "left", "x": "1", "y": 2}, None),
        ("Input.dispatchMouseEvent", [], None),
        ("Input.dispatchMouseEvent", PRESSED | {"clickCount": "2"}, {"kind": "left", "times": 0, "x": 1, "y": 2}),
        (
            "Input.dispatchMouseEvent",
            {"type": "mouseWheel", "x": 3, "y": 4, "deltaX": [], "deltaY": math.inf},
            {"kind": "up", "x": 3, "y": 4},
        ),
        ("Input.dispatchKeyEvent", {"type": "keyDown", "key": "h", "modifiers": None}, {"kind": "typed"}),
        ("Input.insertText", {"text": "hunter2"}, {"kind": "typed"}),
        ("Input.dispatchKeyEvent", {"type": "keyDown", "key": "h"}, {"kind": "typed"}),
        ("Input.dispatchKeyEvent", {"type": "keyUp", "key": "h"}, None),
        (
            "Input.dispatchKeyEvent",
            {"type": "rawKeyDown", "key": "s", "modifiers": 2},
            {"kind": "key", "key": "s", "modifiers": 2},
        ),
        ("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Enter"}, {"kind": "key", "key": "Enter", "modifiers": 0}),
    ]
)
def test_what_is_done_is_told_without_what_is_typed(method: str, params: object, act: object) -> None:
    assert act_of(command(method, params)) == act


def told(acts: ClientConnection, client: Session, session: str, **params: object) -> dict[str, Any]:
    """What is told once a command was sent; nobody says when the other side has begun to follow."""

    def act() -> dict[str, Any]:
        client.result("Input.dispatchMouseEvent", session, **params)
        return next_of(acts)

    return until(act)


def next_of(acts: ClientConnection) -> dict[str, Any]:
    """What is told next; nothing if it is not told within a second."""
    with suppress(TimeoutError):
        found: dict[str, Any] = json.loads(acts.recv(timeout=1))
        return found
    return {}


def test_a_click_is_told_with_its_place_on_the_screen(shared: BrowserServer) -> None:
    with shared.connect() as client, unix_connect(shared.socket, "ws://browser/browser/acts", additional_headers=OWN) as acts:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)

        def is_told() -> bool:  # a window that has just been opened may move yet
            found = told(acts, client, session, type="mousePressed", button="right", x=40, y=50, clickCount=1)
            left, top = client.evaluate("[screenX, screenY + outerHeight - innerHeight]", session)
            return found == {"kind": "right", "times": 1, "x": left + 40, "y": top + 50}

        until(is_told)
        client.result("Target.closeTarget", targetId=target)


def test_nobody_but_processes_of_our_own_is_told(shared: BrowserServer) -> None:
    headers = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser"}
    with (
        pytest.raises(InvalidStatus, match="403"),
        unix_connect(shared.socket, "ws://browser/browser/acts", additional_headers=headers),
    ):
        pass


def test_a_click_on_a_page_shown_as_another_device_is_not_told_and_a_key_is(shared: BrowserServer) -> None:
    with (
        shared.connect() as client,
        shared.connect() as other,
        unix_connect(shared.socket, "ws://browser/browser/acts", additional_headers=OWN) as acts,
    ):
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        other.result("Emulation.setDeviceMetricsOverride", other.attach(target), width=390, height=844, deviceScaleFactor=2, mobile=True)

        def act() -> dict[str, Any]:  # nothing is told of a page that is slow to say where it is, and nobody says when following has begun
            client.result("Input.dispatchMouseEvent", session, **PRESSED)
            client.result("Input.dispatchKeyEvent", session, type="rawKeyDown", key="F7")
            return next_of(acts)

        heard = until(act)
        client.result("Target.closeTarget", targetId=target)
        assert heard == {"kind": "key", "key": "F7", "modifiers": 0, "x": 0, "y": 0}
