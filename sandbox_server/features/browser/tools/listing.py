"""A page as text for agents: one line for each interactive element, and plain text between them."""

from typing import Any

from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.features.browser.page.page_operation import Targeted, driving

STALE = (
    "clickable elements(Might be outdated, if an error occurs with the index element, use `browser_get_clickable_elements` to refresh it): "
)

_SHOWN = ("type", "role", "placeholder", "value", "href", "checked", "disabled")
_MAX_ATTRIBUTE = 100


class Outline:
    """Formats pages as lines."""

    def __init__(self, session: BrowserSession, elements: ElementIndex) -> None:
        self._session = session
        self._elements = elements

    async def read(self, request: Targeted) -> str:
        """Return the lines: `[3]<button>Search</button>`, and `[]` before plain text."""
        async with driving(self._session, request, "listing the elements") as driven:
            listing = await self._elements.list(driven.page, driven.frame, texts=True)
        more = [f"({listing.left} more were not listed)"] if listing.left else []
        return "\n".join([line_of(item) for item in listing.items] + more)


def line_of(item: dict[str, Any]) -> str:
    """Format one line."""
    if "text" in item:
        return f"[]{item['text']}"
    attributes = "".join(f" {name}={_quote(item[name])}" for name in _SHOWN if item[name] not in (None, "", False))
    return f"[{item['index']}]<{item['tag']}{attributes}>{item['name']}</{item['tag']}>"


def _quote(value: object) -> str:
    text = str(value)
    return f'"{text[:_MAX_ATTRIBUTE]}{"…" if len(text) > _MAX_ATTRIBUTE else ""}"'
