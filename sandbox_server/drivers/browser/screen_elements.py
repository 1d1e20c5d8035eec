"""Elements of the front page in screen coordinates. A click uses the desktop's pointer where it reaches the element."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from sandbox_server.core.errors import Conflict, Failure
from sandbox_server.drivers.browser.dialogs import LOOKING
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.script_results import Number, answer
from sandbox_server.drivers.browser.session import BrowserSession, Driven
from sandbox_server.timeouts import scaled

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, FloatRect

LOOK_SECONDS = scaled(10.0)
CLICK_SECONDS = scaled(5.0)
ARRIVE_MS = 700
"""How long the browser may take to notice that the pointer came over an element."""

_WINDOW = """() => ({
    x: screenX, y: screenY + outerHeight - innerHeight * devicePixelRatio, scale: devicePixelRatio,
    width: innerWidth, height: innerHeight, born: `${performance.timeOrigin}`})"""
_ARMED = """(element, patience) => ({arrived: new Promise((done) => {
    const view = element.ownerDocument.defaultView;
    const look = (event) => event.isTrusted && done(event.composedPath().includes(element));
    view.addEventListener('mousemove', look, {capture: true, once: true});
    setTimeout(() => { view.removeEventListener('mousemove', look, {capture: true}); done(false); }, patience); })})"""

type Point = tuple[int, int]
type PointerAction = Callable[[Point], Awaitable[None]]
"""Something that does its part at a point of the screen, in pixels: moves there, or clicks there."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An element: its name, what the page says of it as `ElementIndex.list` has it, and its box in pixels of the screen."""

    ref: str
    about: dict[str, Any]
    x: int
    y: int
    width: int
    height: int


class _Window(TypedDict):
    x: Number
    y: Number
    scale: Number
    width: Number
    height: Number
    born: str


@dataclass(frozen=True, slots=True)
class _View:
    """Where the inside of the browser's window is on the screen, and which document is in it."""

    x: float
    y: float
    scale: float
    """Pixels of the screen to one of the page."""
    width: float
    height: float
    mark: str

    def point(self, x: float, y: float) -> Point:
        """Where a point of the page is on the screen."""
        return round(self.x + x * self.scale), round(self.y + y * self.scale)


class PageOnScreen:
    """The page in front."""

    def __init__(self, session: BrowserSession, elements: ElementIndex) -> None:
        self._session = session
        self._elements = elements

    async def list(self) -> list[Shown]:
        """Its elements, at most MAX_ELEMENTS.

        Raises Unavailable while there is no browser, Conflict for a page that does not answer.
        """
        async with self._driving("listing the elements", LOOK_SECONDS) as driven:
            view = await _view(driven)
            listing = await self._elements.list(driven.page, driven.frame)
            boxes = await asyncio.gather(*(self._box(driven, item) for item in listing.items))
        return [_shown(item, box, view) for item, box in zip(listing.items, boxes, strict=True) if box]

    async def click(
        self, ref: str, *, button: Literal["left", "middle", "right"], times: int, point: PointerAction, press: PointerAction
    ) -> Point | None:
        """Click an element and give the point of the screen where the pointer did it; None where the page had to be told to.

        The pointer reaches it if the page sees the pointer come over the element when `point` moves it: otherwise something covers it.
        Raises Conflict for an element that is gone, or of another page than the one in front.
        """
        async with self._driving("the click", CLICK_SECONDS) as driven:
            view = await _view(driven)
            mark, _, index = ref[1:].partition(".")
            if mark != view.mark:
                raise Conflict("the element is of another page than the one in front: read the elements again", reason="stale")
            element = await self._elements.find(driven.page, int(index))
            await element.scroll_into_view_if_needed(timeout=CLICK_SECONDS * 1000)
            middle = await _middle(element, view)
            if middle is not None:
                armed = await element.evaluate_handle(_ARMED, ARRIVE_MS)
                await point(middle)
                if await armed.evaluate("armed => armed.arrived"):
                    await press(middle)
                    return middle
            await element.click(button=button, click_count=times, timeout=CLICK_SECONDS * 1000)
        return None

    async def _box(self, driven: Driven, item: dict[str, Any]) -> "FloatRect | None":
        """Where an element is in the page; None for one in a frame that has gone since."""
        if item["frame"] is None:
            return {"x": item["x"], "y": item["y"], "width": item["width"], "height": item["height"]}
        with suppress(Failure):
            return await (await self._elements.find(driven.page, item["index"])).bounding_box()
        return None

    @asynccontextmanager
    async def _driving(self, doing: str, timeout: float) -> AsyncIterator[Driven]:
        async with self._session.driving(doing, answer=LOOKING, timeout=timeout) as driven:
            yield driven


async def _view(driven: Driven) -> _View:
    found = await answer(driven.page, _WINDOW, None, _Window)
    mark = f"{zlib.crc32(f'{driven.tab.page} {found["born"]}'.encode()):08x}"
    return _View(found["x"], found["y"], found["scale"], found["width"], found["height"], mark)


def _shown(item: dict[str, Any], box: "FloatRect", view: _View) -> Shown:
    x, y = view.point(box["x"], box["y"])
    ref = f"e{view.mark}.{item['index']}"
    return Shown(ref, item, x, y, round(box["width"] * view.scale), round(box["height"] * view.scale))


async def _middle(element: "ElementHandle", view: _View) -> Point | None:
    """The middle of an element on the screen; None if that is not in the window."""
    box = await element.bounding_box()
    if box is None:
        return None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return view.point(x, y) if 0 <= x < view.width and 0 <= y < view.height else None
