"""The page of the browser in front."""

from typing import TYPE_CHECKING, Any

from tandem.api import AsyncApi
from tandem.wire import UNSET

if TYPE_CHECKING:
    from tandem.api.browser_page import InteractiveElement, Landed


class AsyncPage:
    """The page of the tab in front, or of the tab with that index.

    An element is named by a `selector` (CSS, or `text=Sign in`), or by an `index` of `elements`. `timeout` is in seconds.
    """

    def __init__(self, api: AsyncApi, tab: int | None = None) -> None:
        self._page = api.browser_page
        self._tab = UNSET if tab is None else tab

    async def goto(self, url: str, *, wait_until: str = "load", timeout: float = 30.0) -> "Landed":
        """Navigate; answers `url`, `title` and the HTTP `status`. `wait_until`: `commit`, `domcontentloaded`, `load` or `networkidle`."""
        return await self._page.navigate(url=url, wait_until=wait_until, timeout=timeout, tab=self._tab)

    async def click(self, selector: str | None = None, *, index: int | None = None, timeout: float = 10.0) -> None:
        """Click an element."""
        await self._page.click(selector=selector, index=index, timeout=timeout, tab=self._tab)

    async def fill(self, text: str, selector: str | None = None, *, index: int | None = None, timeout: float = 10.0) -> None:
        """Put a text into a field, in place of what is there."""
        await self._page.fill(text=text, selector=selector, index=index, timeout=timeout, tab=self._tab)

    async def press(self, key: str) -> None:
        """Press a key, such as `Enter`, or several at once: `Control+a`."""
        await self._page.press_key(key=key, tab=self._tab)

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        return await self._page.evaluate(expression=expression, tab=self._tab)

    async def elements(self) -> "list[InteractiveElement]":
        """What can be clicked and filled, each with its `index`."""
        return await self._page.get_elements(tab=self._tab)

    async def text(self) -> str:
        """What the page says."""
        return await self._page.get_text(tab=self._tab)

    async def markdown(self) -> str:
        """What the page says, as Markdown."""
        return (await self._page.get_markdown(tab=self._tab)).content

    async def html(self) -> str:
        """The page's document."""
        return await self._page.get_html(tab=self._tab)

    async def screenshot(self, *, full_page: bool = False) -> bytes:
        """A picture of the page in PNG."""
        return await self._page.screenshot(full_page=full_page, format="png", tab=self._tab)
