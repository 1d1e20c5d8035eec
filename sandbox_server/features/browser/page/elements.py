"""What can be acted on in a page."""

from typing import Any

from sandbox_server.core import Model, Reply, operation
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.features.browser.page.page_operation import Targeted, driving


class InteractiveElement(Model):
    """Something to click, to fill or to choose from. Positions are pixels of the page's window."""

    index: int
    """What `click`, `fill` and others take; it stays this element's until the page goes to another document."""
    tag: str
    role: str | None
    type: str | None
    """Of an input or a button."""
    name: str
    """Its label or its text, at most 200 characters."""
    value: str | None
    """What is in it; of a password field only whether there is anything."""
    href: str | None
    placeholder: str | None
    checked: bool | None
    disabled: bool
    options: list[str] | None
    """The texts of a list's first 100 options."""
    frame: str | None
    """Address of the frame that it is in; null in the page itself."""
    x: float
    y: float
    width: float
    height: float
    in_viewport: bool
    """Whether any of it is in sight without scrolling."""


class PageElements:
    """Lists elements with indices by which others act on them."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession, elements: ElementIndex) -> None:
        self._session = session
        self._elements = elements

    @operation("GET /v1/browser/page/elements", operation_id="get_elements", scope="browser")
    async def get_interactive_elements(self, request: Targeted) -> Reply[list[InteractiveElement]]:
        """List what can be clicked, filled or chosen from, in the order in which the page shows it.

        Open shadow roots and frames are looked into. At most 1,000 elements are listed; of an address or another attribute
        of more than 8,192 characters, the beginning and `…`.
        """
        async with driving(self._session, request, "listing the elements") as driven:
            listing = await self._elements.list(driven.page, driven.frame)
        hints = [await self._session.hint(), f"{listing.left} more elements were not listed." if listing.left else None]
        return Reply([_element(item) for item in listing.items], hint=" ".join(filter(None, hints)) or None)


def _element(item: dict[str, Any]) -> InteractiveElement:
    return InteractiveElement(**item)
