"""Windows move, change their size and state, and close, as openbox does it on request."""

from functools import partial
from operator import eq

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.window_changes import WindowPlace, WindowState
from sandbox_server.drivers.x11.windows import X11Window
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import eventually

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


async def shown(desktop: Desktop) -> X11Window:
    """The one window, once it is managed."""
    return (await eventually(desktop.windows.all, lambda found: len(found) == 1 and found[0].focused))[0]


async def state_of(desktop: Desktop, xid: int) -> WindowState:
    """The state of a window."""
    return (await desktop.windows.read(xid)).state


@pytest.mark.parametrize("border", [0, 3])
async def test_a_window_goes_to_a_place_and_takes_a_size(desktop: Desktop, xserver: XServer, border: int) -> None:
    program = Program(xserver.name)
    program.window.configure(border_width=border)
    program._display.sync()
    xid = (await shown(desktop)).xid
    await desktop.windows.set_place(xid, WindowPlace(x=210, y=120, width=640, height=360))
    await eventually(lambda: desktop.windows.read(xid), lambda found: (found.x, found.y, found.width, found.height) == (210, 120, 640, 360))
    await desktop.windows.set_place(xid, WindowPlace(width=500))
    await eventually(lambda: desktop.windows.read(xid), lambda found: (found.x, found.y, found.width, found.height) == (210, 120, 500, 360))
    program.close()


async def test_a_window_takes_each_state_from_each_other(desktop: Desktop, xserver: XServer) -> None:
    program = Program(xserver.name)
    before = await shown(desktop)
    states: list[WindowState] = ["maximized", "fullscreen", "minimized", "fullscreen", "maximized", "minimized", "normal", "normal"]
    for state in states:
        await desktop.windows.set_state(before.xid, state)
        await eventually(lambda: state_of(desktop, before.xid), partial(eq, state))
    after = await eventually(lambda: desktop.windows.read(before.xid), lambda found: found.focused)
    assert (after.width, after.height) == (before.width, before.height)
    program.close()


async def test_a_window_that_is_gone_is_a_conflict(desktop: Desktop, xserver: XServer) -> None:
    program = Program(xserver.name)
    xid = (await shown(desktop)).xid
    program.close()
    await eventually(desktop.windows.all, lambda found: not found)
    for change in (desktop.windows.set_state(xid, "normal"), desktop.windows.set_place(xid, WindowPlace(x=1)), desktop.windows.close(xid)):
        with pytest.raises(Conflict, match="is gone"):
            await change
