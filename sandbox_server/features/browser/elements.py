"""What is on the screen, by names that can be clicked: windows."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Model, operation
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.pointer import Button
from sandbox_server.drivers.x11.turns import Turns
from sandbox_server.drivers.x11.windows import Window

RAISE_SECONDS = 2.0
"""How long a window manager may take to bring a window to the front."""
RAISE_PAUSE = 0.01


class Point(Model):
    x: int
    """Pixels from the left edge of the screen."""
    y: int
    """Pixels from its top."""


class WindowOnScreen(Model):
    ref: str
    """Its name for as long as it is open."""
    title: str
    program: str
    """The class that the program gives its windows, as in `Chromium`."""
    pid: int | None
    dialog: bool
    focused: bool
    """Whether it gets what is typed."""
    hidden: bool
    """Minimised."""
    x: int
    """Left edge of its content, in pixels of the screen."""
    y: int
    """Top edge of its content, in pixels of the screen."""
    width: int
    """In pixels."""
    height: int
    """In pixels."""


class Elements(Model):
    width: int
    """Width of the screen in pixels."""
    height: int
    """Height of the screen in pixels."""
    pointer: Point
    focus: str | None
    """The ref of the window that gets what is typed."""
    windows: list[WindowOnScreen]
    """From the topmost to the lowest."""


class ClickRequest(Model):
    ref: Annotated[str, Field(pattern=r"^w[0-9a-f]{1,8}$")]
    """Of an element, as `read_elements` names it."""
    button: Literal["left", "middle", "right"] = "left"
    num_clicks: Annotated[int, Field(ge=1, le=3)] = 1
    """Times that the button is pressed."""


class Clicked(Model):
    ref: str
    by: Literal["pointer"]
    """What clicked: the pointer of the screen."""
    x: int
    """Where on the screen, in pixels."""
    y: int
    """Where on the screen, in pixels."""


class ScreenElements:
    """Lists what is on the screen and clicks it."""

    tag = "screen"

    def __init__(self, desktop: Desktop, turns: Turns) -> None:
        self._desktop = desktop
        self._turns = turns

    @operation("GET /v1/screen/elements", scope="browser", tool="sandbox_screen_elements")
    async def read_elements(self) -> Elements:
        """List the windows on the screen, with where they are and which of them has the focus.

        A ref names the same window for as long as that is open: `click_element` takes it.
        """
        windows = [_on_screen(window) for window in await self._desktop.windows.all()]
        width, height = await self._desktop.screen.size()
        x, y = await self._desktop.pointer.position()
        focus = next((window.ref for window in windows if window.focused), None)
        return Elements(width=width, height=height, pointer=Point(x=x, y=y), focus=focus, windows=windows)

    @operation("POST /v1/screen/click", scope="control", tool="sandbox_screen_click")
    async def click_element(self, request: ClickRequest) -> Clicked:
        """Click the middle of a window, which comes to the front before.

        409 if it was closed, or does not come to the front.
        """
        async with self._turns.take(hold=False):
            window = await self._raised(int(request.ref[1:], 16))
            x, y = await self._middle(window)
            await self._click(x, y, request.button, request.num_clicks)
        return Clicked(ref=request.ref, by="pointer", x=x, y=y)

    async def _raised(self, xid: int) -> Window:
        """The window, once it has the focus: the window manager acts in its own time."""
        window = await self._desktop.windows.activate(xid)
        try:
            async with asyncio.timeout(RAISE_SECONDS):
                while not window.focused or window.hidden:
                    await asyncio.sleep(RAISE_PAUSE)
                    window = await self._desktop.windows.read(xid)
        except TimeoutError:
            raise Conflict(f"the window {window.title!r} does not come to the front") from None
        return window

    async def _middle(self, window: Window) -> tuple[int, int]:
        """The middle of the part of a window that is on the screen."""
        width, height = await self._desktop.screen.size()
        left, right = max(0, window.x), min(width, window.x + window.width)
        top, bottom = max(0, window.y), min(height, window.y + window.height)
        if left >= right or top >= bottom:
            raise Conflict(f"the window {window.title!r} is not on the screen")
        return (left + right) // 2, (top + bottom) // 2

    async def _click(self, x: int, y: int, button: Button, times: int) -> None:
        await self._desktop.pointer.move(x, y)
        await self._desktop.pointer.click(button, times)


def _on_screen(window: Window) -> WindowOnScreen:
    return WindowOnScreen(
        ref=f"w{window.xid:x}",
        title=window.title,
        program=window.program,
        pid=window.pid,
        dialog=window.dialog,
        focused=window.focused,
        hidden=window.hidden,
        x=window.x,
        y=window.y,
        width=window.width,
        height=window.height,
    )
