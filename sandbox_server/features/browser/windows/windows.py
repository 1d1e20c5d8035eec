"""Windows of the desktop: move, resize, minimise, maximise and close them."""

import asyncio
from typing import Annotated, Self

from pydantic import Field, model_validator

from sandbox_server.core import Conflict, Model, Reply, operation
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.drivers.x11.screen import MAX_SIZE
from sandbox_server.drivers.x11.window_changes import WindowPlace, WindowState
from sandbox_server.drivers.x11.windows import X11Window
from sandbox_server.features.browser.windows.window import ACT_PAUSE, ACT_SECONDS, WindowOnScreen, came_to_rest, on_screen, xid_of

type WindowRef = Annotated[str, Field(pattern=r"^w[0-9a-f]{1,8}$")]
type Edge = Annotated[int, Field(ge=-MAX_SIZE[0], le=MAX_SIZE[0])]
type Length = Annotated[int, Field(ge=1, le=MAX_SIZE[0])]


class WindowRequest(Model):
    ref: WindowRef
    """A window from `read_elements`."""


class WindowChange(WindowRequest):
    state: WindowState | None = None
    """`normal`, `minimized`, `maximized` or `fullscreen`; all but `minimized` also raise and focus it."""
    x: Edge | None = None
    """Left edge of its content, in pixels of the screen. A place or a size makes it `normal`."""
    y: Edge | None = None
    """Top edge of its content, in pixels of the screen."""
    width: Length | None = None
    """Of its content, in pixels."""
    height: Length | None = None
    """Of its content, in pixels."""

    @model_validator(mode="after")
    def _names_a_change(self) -> Self:
        if self.state is None and self.place == WindowPlace():
            raise ValueError("name a state, a place or a size")
        if self.state not in (None, "normal") and self.place != WindowPlace():
            raise ValueError("a place and a size are for the state `normal`")
        return self

    @property
    def place(self) -> WindowPlace:
        """The place and size asked for."""
        return WindowPlace(self.x, self.y, self.width, self.height)


class WindowClosed(Model):
    ref: str
    closed: bool
    """Whether it is gone."""


class DesktopWindows:
    """Changes windows, for one caller at a time."""

    tag = "screen"

    def __init__(self, desktop: Desktop, turns: InputTurns) -> None:
        self._desktop = desktop
        self._turns = turns

    @operation("PATCH /v1/screen/windows/{ref}", scope="control", tool="sandbox_screen_window", destructive=True, acts="gui", shows=True)
    async def change_window(self, request: WindowChange) -> Reply[WindowOnScreen]:
        """Move, resize, minimise, maximise or restore a window, or show it in full screen.

        The answer has the window as it is then: programs may have a smallest size, and the window manager keeps
        windows on the screen. 409 if it is gone.
        """
        xid, place = xid_of(request.ref), request.place
        async with self._turns.take(hold=False):
            state = request.state or (None if place == WindowPlace() else "normal")
            done = True
            if state:
                await self._desktop.windows.set_state(xid, state)
                window, done = await came_to_rest(self._desktop, xid, lambda window: window.state == state)
            if place != WindowPlace():
                await self._desktop.windows.set_place(xid, place)
                window, done = await came_to_rest(self._desktop, xid, lambda window: _is_at(window, place))
        hint = None if done else "the window manager or the program did not do all of it: the answer says how the window is"
        return Reply(on_screen(window), hint=hint)

    @operation("DELETE /v1/screen/windows/{ref}", scope="control", acts="gui", shows=True)
    async def close_window(self, request: WindowRequest) -> Reply[WindowClosed]:
        """Close a window, as a click on its cross does.

        Its program may ask first whether to save: then it is still there after two seconds, and the answer says so. 409
        if it was gone before.
        """
        async with self._turns.take(hold=False):
            await self._desktop.windows.close(xid_of(request.ref))
            closed = await self._is_gone(xid_of(request.ref))
        hint = None if closed else "it is still open: its program may ask something, see the screen"
        return Reply(WindowClosed(ref=request.ref, closed=closed), hint=hint)

    async def _is_gone(self, xid: int) -> bool:
        """Wait until a window is gone, at most ACT_SECONDS; return whether it is."""
        try:
            async with asyncio.timeout(ACT_SECONDS):
                while True:
                    await self._desktop.windows.read(xid)
                    await asyncio.sleep(ACT_PAUSE)
        except Conflict:
            return True
        except TimeoutError:
            return False


def _is_at(window: X11Window, place: WindowPlace) -> bool:
    asked = ((place.x, window.x), (place.y, window.y), (place.width, window.width), (place.height, window.height))
    return all(wanted in (None, actual) for wanted, actual in asked)
