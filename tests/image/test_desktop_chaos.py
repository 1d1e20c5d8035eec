"""Each part of the desktop is killed while a viewer watches and a client acts: both are told, and then all is well again."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.image.rfb import Viewer, viewing
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

PARTS = {"Xvfb": "Xvfb", "the window manager": "openbox", "the message bus": "dbus-daemon", "the VNC server": "X0tigervnc"}


@pytest.fixture(scope="module")
def own(sandbox_with: Callable[..., "Sandbox"]) -> "Sandbox":
    return sandbox_with(env={"DISPLAY_WIDTH": "800", "DISPLAY_HEIGHT": "600"})


def act(sandbox: "Sandbox") -> httpx.Response:
    return sandbox.request("POST", "/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 10, "y": 10})


def watches(sandbox: "Sandbox") -> bool:
    """Whether a new viewer gets a picture of the right size."""
    try:
        with viewing(sandbox) as viewer:
            return (viewer.width, viewer.height, len(viewer.pixel(0, 0))) == (800, 600, 4)
    except (WebSocketException, OSError, TimeoutError):
        return False


def is_whole(sandbox: "Sandbox") -> bool:
    doctor = {check["name"]: check["status"] for check in sandbox.request("GET", "/v1/doctor").json()["data"]["checks"]}
    return sandbox.answers("/readyz") and doctor["desktop"] == "holds" and act(sandbox).status_code == 200 and watches(sandbox)


def pids(sandbox: "Sandbox", program: str) -> list[str]:
    return sandbox.exec("pgrep", "-x", program).stdout.split()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.slow
def test_the_desktop_is_whole_again_after_a_part_was_killed(own: "Sandbox", part: str) -> None:
    until(lambda: is_whole(own), told=own.logs)
    before = pids(own, PARTS[part])
    assert len(before) == 1
    with viewing(own) as viewer:
        viewer.point(20, 20)
        own.exec("kill", "-9", *before)
        answered = act(own)
        assert answered.status_code in (200, 503), answered.text
        until(lambda: is_whole(own), told=own.logs)
        until(lambda: pids(own, PARTS[part]) != before)  # one that has ended is listed until it is waited for
        if part in ("Xvfb", "the VNC server"):
            assert ends(viewer)
        else:
            assert len(viewer.pixel(0, 0)) == 4, "who watched still does"


def ends(viewer: Viewer) -> bool:
    """Whether the connection was closed with a reason, so that a page knows to connect again."""
    try:
        while True:
            viewer.pixel(0, 0)
    except ConnectionClosed as closed:
        return closed.rcvd is not None and "VNC server ended" in closed.rcvd.reason


def test_what_a_viewer_held_down_is_released_when_the_vnc_server_is_killed(own: "Sandbox") -> None:
    until(lambda: is_whole(own), told=own.logs)
    with viewing(own) as viewer:
        viewer.point(30, 30, 1)
        viewer.pixel(0, 0)
        until(lambda: pressed(own))
        own.exec("pkill", "-9", "-x", "X0tigervnc")
        until(lambda: not pressed(own))


def pressed(sandbox: "Sandbox") -> bool:
    program = "from Xlib.display import Display; print(Display('unix/:99').screen().root.query_pointer().mask & 0x1F00)"
    told = sandbox.exec("env", "XAUTHORITY=/run/sandbox-desktop/authority", "/opt/venv/bin/python", "-c", program, user="control")
    return told.stdout.strip() not in ("0", "")


def test_a_size_that_was_set_outlives_the_window_manager_and_the_x_server(own: "Sandbox") -> None:
    until(lambda: is_whole(own), told=own.logs)
    own.request("POST", "/v1/browser/config", json={"resolution": {"width": 900, "height": 700}})
    try:
        for program in ("openbox", "Xvfb"):
            replace(own, program)
            until(lambda: size(own) == ("900", "700"), told=own.logs)
    finally:
        own.request("POST", "/v1/browser/config", json={"resolution": {"width": 800, "height": 600}})


def replace(sandbox: "Sandbox", program: str) -> None:
    """Kill a program and wait until another runs."""
    before = pids(sandbox, program)
    sandbox.exec("kill", "-9", *before)
    until(lambda: pids(sandbox, program) not in ([], before), told=sandbox.logs)


def size(sandbox: "Sandbox") -> tuple[str | None, str | None]:
    headers = sandbox.request("GET", "/v1/browser/screenshot").headers
    return headers.get("x-screen-width"), headers.get("x-screen-height")
