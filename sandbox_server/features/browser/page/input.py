"""Mouse and keyboard input on a page."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from sandbox_server.core import Model, NotFound, Reply, operation
from sandbox_server.drivers.browser import script_results
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.key_names import combination, key_name
from sandbox_server.drivers.browser.scripts import script
from sandbox_server.drivers.browser.session import BrowserSession, Driven
from sandbox_server.features.browser.page.page_operation import (
    MAX_TEXT,
    Acting,
    Element,
    Index,
    Selector,
    driving,
    invalid,
    looking_for,
    milliseconds,
    with_hint,
)

if TYPE_CHECKING:
    from playwright.async_api import Page

MAX_TYPED = 1000
"""Limit of characters that are typed key by key. Longer text without a delay is inserted at once, as by an input method."""
MAX_TYPING = 300.0
"""Limit in seconds of typing with a delay."""
MAX_SCROLL = 1_000_000


class OnElement(Acting):
    """An operation on one element: the one of an index of `get_elements`, or the first that matches a selector."""

    selector: Selector | None = None
    """A CSS selector, or one of Playwright's, such as `text=Sign in`. It finds elements in open shadow roots."""
    index: Index | None = None
    """An index of `get_elements`."""

    @property
    def named(self) -> int:
        """How many of the ways to name an element are used."""
        return (self.selector is not None) + (self.index is not None)


class OneElement(OnElement):
    """An operation that requires an element."""

    @model_validator(mode="after")
    def _check_exactly_one(self) -> "OneElement":
        if self.named != 1:
            raise ValueError("give either selector or index")
        return self


class AtPoint(OnElement):
    """An operation on an element or at a point of the page's window."""

    x: float | None = None
    """Pixels from the left edge of the page's window."""
    y: float | None = None
    """Pixels from the top edge of the page's window."""

    @model_validator(mode="after")
    def _check_exactly_one(self) -> "AtPoint":
        if (self.x is None) != (self.y is None):
            raise ValueError("x and y go together")
        if self.named + (self.x is not None) != 1:
            raise ValueError("give one of selector, index, or x and y")
        return self


class ClickRequest(AtPoint):
    button: Literal["left", "right", "middle"] = "left"
    click_count: Annotated[int, Field(ge=1, le=3)] = 1


class HoverRequest(AtPoint):
    pass


class TypeTextRequest(Acting):
    text: Annotated[str, Field(max_length=MAX_TEXT)]
    delay: Annotated[float, Field(ge=0, le=10_000)] = 0
    """Milliseconds between two keys."""

    @model_validator(mode="after")
    def _check_typing_time(self) -> "TypeTextRequest":
        if self.delay * len(self.text) > milliseconds(MAX_TYPING):
            raise ValueError(f"typing this would take more than {MAX_TYPING:g} s")
        return self


class KeyRequest(Acting):
    key: Annotated[str, Field(min_length=1, max_length=100)]
    """A key such as `Enter`, `ArrowDown` or `a`, or a combination such as `Control+A`."""


class HotKeyRequest(Acting):
    keys: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(min_length=1, max_length=10)]
    """Keys to press together, in this order, such as `["Control", "c"]`."""


class ScrollRequest(Acting):
    direction: Literal["up", "down", "left", "right"] = "down"
    amount: Annotated[int, Field(ge=0, le=MAX_SCROLL)] = 300
    """Pixels."""


class ScrollToRequest(Acting):
    x: Annotated[int, Field(ge=0)] = 0
    """Pixels from the left edge of the document."""
    y: Annotated[int, Field(ge=0)] = 0
    """Pixels from the top edge of the document."""


class ScrollToElementRequest(OneElement):
    pass


class Scrolled(Model):
    """The new scroll position, in pixels."""

    x: int
    y: int
    width: int
    """Of the whole content."""
    height: int
    at_end: bool
    """Whether its end is visible. A page that loads more at its end may have grown by the next call."""


class PageInput:
    """Mouse and keyboard input to one page, which may be in the background."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession, elements: ElementIndex) -> None:
        self._session = session
        self._elements = elements

    @operation(
        "POST /v1/browser/page/click",
        scope="browser",
        tool="browser_click",
        destructive=True,
        aliases=("sandbox_browser_element_click", "browser_element_click"),
        acts="cdp",
    )
    async def click(self, request: ClickRequest) -> Reply[None]:
        """Click an element, or a point of the page's window.

        Waits until the element is visible, enabled and not moving, and scrolls to it.
        """
        async with driving(self._session, request, "the click") as driven, looking_for(driven, request.selector):
            if request.x is not None and request.y is not None:
                await _expect_inside(driven.page, request.x, request.y)
                await driven.page.mouse.click(request.x, request.y, button=request.button, click_count=request.click_count)
            else:
                element = await element_of(self._elements, driven, request)
                await element.click(button=request.button, click_count=request.click_count, timeout=milliseconds(request.timeout))
        return await with_hint(self._session, None)

    @operation(
        "POST /v1/browser/page/hover",
        scope="browser",
        tool="browser_hover",
        aliases=("sandbox_browser_element_hover", "browser_element_hover"),
        acts="cdp",
    )
    async def hover(self, request: HoverRequest) -> Reply[None]:
        """Move the mouse over an element, or to a point of the page's window."""
        async with driving(self._session, request, "the hover") as driven, looking_for(driven, request.selector):
            if request.x is not None and request.y is not None:
                await _expect_inside(driven.page, request.x, request.y)
                await driven.page.mouse.move(request.x, request.y)
            else:
                await (await element_of(self._elements, driven, request)).hover(timeout=milliseconds(request.timeout))
        return await with_hint(self._session, None)

    @operation("POST /v1/browser/page/type", scope="browser", acts="cdp")
    async def type_text(self, request: TypeTextRequest) -> Reply[None]:
        """Type text into the focused element.

        Characters without a key, and text of more than 1,000 characters without a delay, are inserted as by an input
        method.
        """
        spent = request.delay * len(request.text) / 1000
        longer = request.model_copy(update={"timeout": request.timeout + spent})
        async with driving(self._session, longer, "typing") as driven:
            if len(request.text) > MAX_TYPED and not request.delay:
                await driven.page.keyboard.insert_text(request.text)
            else:
                await driven.page.keyboard.type(request.text, delay=request.delay)
        return await with_hint(self._session, None)

    @operation(
        "POST /v1/browser/page/press_key",
        scope="browser",
        tool="browser_press_key",
        destructive=True,
        aliases=("sandbox_browser_press_key",),
        acts="cdp",
    )
    async def press_key(self, request: KeyRequest) -> Reply[None]:
        """Press a key, or several at once."""
        keys = combination(request.key)
        if keys is None:
            raise invalid("key", f"there is no key {request.key!r}")
        return await self._press(request, keys)

    @operation("POST /v1/browser/page/hot_key", scope="browser", acts="cdp")
    async def hot_key(self, request: HotKeyRequest) -> Reply[None]:
        """Press several keys at once, and release them in reverse."""
        names = [key_name(key) for key in request.keys]
        if None in names:
            raise invalid("keys", f"there is no key {request.keys[names.index(None)]!r}")
        return await self._press(request, "+".join(name for name in names if name))

    @operation("POST /v1/browser/page/scroll", scope="browser", acts="cdp")
    async def scroll(self, request: ScrollRequest) -> Reply[Scrolled]:
        """Scroll the page. If it cannot scroll, scroll the scrollable element in the middle of its window."""
        sign = -1 if request.direction in ("up", "left") else 1
        along = "y" if request.direction in ("up", "down") else "x"
        async with driving(self._session, request, "scrolling") as driven:
            scrolled = await scroll_by(driven, **{along: sign * request.amount})
        return await with_hint(self._session, scrolled)

    @operation("POST /v1/browser/page/scroll_to", scope="browser", acts="cdp")
    async def scroll_to(self, request: ScrollToRequest) -> Reply[Scrolled]:
        """Scroll the document to a position. A position beyond its end means its end."""
        async with driving(self._session, request, "scrolling") as driven:
            await driven.frame.evaluate("([x, y]) => scrollTo({left: x, top: y, behavior: 'instant'})", [request.x, request.y])
            scrolled = await scroll_by(driven)
        return await with_hint(self._session, scrolled)

    @operation("POST /v1/browser/page/scroll_to_element", scope="browser", acts="cdp")
    async def scroll_to_element(self, request: ScrollToElementRequest) -> Reply[None]:
        """Scroll until an element is visible."""
        async with driving(self._session, request, "scrolling to the element") as driven, looking_for(driven, request.selector):
            element = await element_of(self._elements, driven, request)
            await element.scroll_into_view_if_needed(timeout=milliseconds(request.timeout))
        return await with_hint(self._session, None)

    async def _press(self, request: Acting, keys: str) -> Reply[None]:
        async with driving(self._session, request, "the key") as driven:
            if len(keys) == 1 and not keys.isascii():
                await driven.page.keyboard.insert_text(keys)
            else:
                await driven.page.keyboard.press(keys)
        return await with_hint(self._session, None)


async def element_of(elements: ElementIndex, driven: Driven, request: OnElement) -> Element:
    """Return the element of a request; raises Conflict for a stale index, NotFound for an unknown one."""
    if request.index is not None:
        return await elements.find(driven.page, request.index)
    if request.selector is None:
        raise NotFound("no element was named")
    return driven.frame.locator(request.selector).first


async def scroll_by(driven: Driven, x: int = 0, y: int = 0) -> Scrolled:
    """Scroll by so many pixels and return the new position."""
    return await script_results.answer(driven.frame, script("scroll"), {"x": x, "y": y}, Scrolled)


async def _expect_inside(page: "Page", x: float, y: float) -> None:
    width, height = await script_results.measures(page, "[innerWidth, innerHeight]", 2)
    for field, value, limit in (("x", x, width), ("y", y, height)):
        if not 0 <= value < limit:
            raise invalid(field, f"the page's window has {width:g}x{height:g} pixels")
