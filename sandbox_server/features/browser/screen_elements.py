"""Elements on the screen that can be clicked by reference: windows, and elements of the page in front."""

from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Failure, Model, Reply, operation
from sandbox_server.drivers.browser.screen_elements import PageOnScreen, Shown
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.drivers.x11.pointer import Button
from sandbox_server.drivers.x11.windows import X11Window
from sandbox_server.features.browser.windows.window import WindowOnScreen, is_browser, on_screen, raised


class Point(Model):
    x: int
    """Pixels from the left edge of the screen."""
    y: int
    """Pixels from its top."""


class ElementOnScreen(Model):
    ref: str
    """Its reference, valid until the page navigates."""
    window: str
    """The ref of the browser's window."""
    tag: str
    role: str | None
    type: str | None
    """Of an input or a button."""
    name: str
    """Its label or its text, at most 200 characters."""
    value: str | None
    """Its value; of a password field only whether it is empty."""
    disabled: bool
    in_viewport: bool
    """Whether any of it is visible without scrolling."""
    x: int
    """Left edge, in pixels of the screen."""
    y: int
    """Top edge, in pixels of the screen."""
    width: int
    """In pixels."""
    height: int
    """In pixels."""


class ElementList(Model):
    width: int
    """Width of the screen in pixels."""
    height: int
    """Height of the screen in pixels."""
    pointer: Point
    focus: str | None
    """The ref of the focused window."""
    windows: list[WindowOnScreen]
    """From the topmost to the lowest."""
    elements: list[ElementOnScreen]
    """Clickable and fillable elements of the page in front, in page order; at most 1,000."""


class ElementClickRequest(Model):
    ref: Annotated[str, Field(pattern=r"^(w[0-9a-f]{1,8}|e[0-9a-f]{8}\.[0-9]{1,7})$")]
    """Reference of an element or window from `read_elements`."""
    button: Literal["left", "middle", "right"] = "left"
    num_clicks: Annotated[int, Field(ge=1, le=3)] = 1
    """Number of clicks."""


class Clicked(Model):
    ref: str
    by: Literal["pointer", "cdp"]
    """What clicked: the pointer, or the browser itself if the element is covered."""
    x: int | None
    """Position on the screen in pixels; null if no pointer was used."""
    y: int | None
    """Position on the screen in pixels; null if no pointer was used."""


class ScreenElements:
    """Lists and clicks the elements on the screen."""

    tag = "screen"

    def __init__(self, desktop: Desktop, turns: InputTurns, page: PageOnScreen) -> None:
        self._desktop = desktop
        self._turns = turns
        self._page = page

    @operation("GET /v1/screen/elements", scope="browser", tool="sandbox_screen_elements")
    async def read_elements(self) -> Reply[ElementList]:
        """List the windows on the screen, the focused one, and the elements of the page in front.

        Positions are in pixels of the screen. `click_element` takes the refs. A ref stays valid while its element
        exists.
        """
        windows = [on_screen(window) for window in await self._desktop.windows.all()]
        width, height = await self._desktop.screen.size()
        x, y = await self._desktop.pointer.position()
        focus = next((window.ref for window in windows if window.focused), None)
        elements, hint = await self._elements(windows)
        return Reply(
            ElementList(width=width, height=height, pointer=Point(x=x, y=y), focus=focus, windows=windows, elements=elements), hint=hint
        )

    @operation("POST /v1/screen/click", scope="control", tool="sandbox_screen_click", destructive=True, acts="gui")
    async def click_element(self, request: ElementClickRequest) -> Clicked:
        """Click an element of the page in front, or the middle of a window, which is raised first.

        The pointer clicks if it can reach the element, else the browser does, as the answer says. 409 if the element no
        longer exists.
        """
        async with self._turns.take(hold=False):
            if request.ref.startswith("e"):
                return await self._click_in_page(request)
            window = await raised(self._desktop, int(request.ref[1:], 16))
            x, y = await self._middle(window)
            await self._click(x, y, request.button, request.num_clicks)
        return Clicked(ref=request.ref, by="pointer", x=x, y=y)

    async def _elements(self, windows: list[WindowOnScreen]) -> tuple[list[ElementOnScreen], str | None]:
        """Return the page's elements if a browser window is visible; else none and the reason."""
        window = next((window for window in windows if _is_pages(window)), None)
        if window is None:
            return [], None
        try:
            return [_in_page(shown, window.ref) for shown in await self._page.list()], None
        except Failure as failure:
            return [], f"The page's elements are not listed: {failure.message}"

    async def _show_browser(self) -> None:
        """Raise the browser window, unless a dialog is in front: a covered page is not painted."""
        windows = await self._desktop.windows.all()
        browser = next((window for window in windows if _is_pages(window)), None)
        if browser and windows[0] != browser and not windows[0].dialog:
            await raised(self._desktop, browser.xid)

    async def _click_in_page(self, request: ElementClickRequest) -> Clicked:
        await self._show_browser()

        async def point(at: tuple[int, int]) -> None:
            await self._desktop.pointer.move(at[0] - 1, at[1])  # without a movement there would be no event
            await self._desktop.pointer.move(*at)

        async def press(_: tuple[int, int]) -> None:
            await self._desktop.pointer.click(request.button, request.num_clicks)

        at = await self._page.click(request.ref, button=request.button, times=request.num_clicks, point=point, press=press)
        return Clicked(ref=request.ref, by="cdp" if at is None else "pointer", x=at and at[0], y=at and at[1])

    async def _middle(self, window: X11Window) -> tuple[int, int]:
        """Return the middle of the visible part of a window."""
        width, height = await self._desktop.screen.size()
        left, right = max(0, window.x), min(width, window.x + window.width)
        top, bottom = max(0, window.y), min(height, window.y + window.height)
        if left >= right or top >= bottom:
            raise Conflict(f"the window {window.title!r} is not on the screen")
        return (left + right) // 2, (top + bottom) // 2

    async def _click(self, x: int, y: int, button: Button, times: int) -> None:
        await self._desktop.pointer.move(x, y)
        await self._desktop.pointer.click(button, times)


def _is_pages(window: X11Window | WindowOnScreen) -> bool:
    return is_browser(window) and not window.dialog and not window.hidden


def _in_page(shown: Shown, window: str) -> ElementOnScreen:
    about = {name: shown.about[name] for name in ("tag", "role", "type", "name", "value", "disabled", "in_viewport")}
    return ElementOnScreen(ref=shown.ref, window=window, x=shown.x, y=shown.y, width=shown.width, height=shown.height, **about)
