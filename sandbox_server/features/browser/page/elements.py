"""The interactive elements of a page."""

from typing import Any

from sandbox_server.core import Model, Reply, operation
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.features.browser.page.page_operation import Targeted, driving


class InteractiveElement(Model):
    """An element to click, fill or choose from. Positions are in pixels of the page's window."""

    index: int
    """The index for `click`, `fill` and others. It identifies this element until the page navigates."""
    tag: str
    role: str | None
    type: str | None
    """The type of an input or a button."""
    name: str
    """Its label or its text, at most 200 characters."""
    value: str | None
    """Its value; of a password field only whether it is empty."""
    href: str | None
    placeholder: str | None
    checked: bool | None
    disabled: bool
    options: list[str] | None
    """The texts of a list's first 100 options."""
    frame: str | None
    """URL of its frame; null in the page itself."""
    x: float
    y: float
    width: float
    height: float
    in_viewport: bool
    """Whether any of it is visible without scrolling."""


class PageElements:
    """Lists interactive elements with their indices."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession, elements: ElementIndex) -> None:
        self._session = session
        self._elements = elements

    @operation("GET /v1/browser/page/elements", operation_id="get_elements", scope="browser")
    async def get_interactive_elements(self, request: Targeted) -> Reply[list[InteractiveElement]]:
        """List the elements that can be clicked, filled or chosen from, in page order.

        Open shadow roots and frames are included. At most 1,000 elements are listed. Attributes of more than 8,192
        characters are shortened with `…`.
        """
        async with driving(self._session, request, "listing the elements") as driven:
            listing = await self._elements.list(driven.page, driven.frame)
        hints = [await self._session.hint(), f"{listing.left} more elements were not listed." if listing.left else None]
        return Reply([_element(item) for item in listing.items], hint=" ".join(filter(None, hints)) or None)


def _element(item: dict[str, Any]) -> InteractiveElement:
    return InteractiveElement(**item)
