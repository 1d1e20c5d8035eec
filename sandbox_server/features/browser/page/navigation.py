"""Navigation between pages."""

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Model, Reply, operation
from sandbox_server.drivers.browser.session import BrowserSession, Driven
from sandbox_server.features.browser.page.page_operation import Acting, Seconds, driving, milliseconds, with_hint

if TYPE_CHECKING:
    from playwright.async_api import Response

LOAD_SECONDS = 30.0

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)

type WaitUntil = Literal["load", "domcontentloaded", "networkidle", "commit"]


class ReloadRequest(Acting):
    wait_until: WaitUntil = "load"
    """What to wait for: the first bytes, the document, all its resources, or half a second without requests."""
    timeout: Seconds = LOAD_SECONDS
    """Limit of that wait in seconds."""


class NavigateRequest(ReloadRequest):
    url: Annotated[str, Field(min_length=1, max_length=2_000_000)]
    """The URL. Without a scheme, `http://` is added."""


class Landed(Model):
    """The page's location after the navigation."""

    url: str
    title: str
    status: int | None
    """The document's HTTP status; null without a request for it, as for a fragment of the same document."""


class Navigation:
    """Navigates pages. A crashed or hanging page is first replaced by a blank one."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession) -> None:
        self._session = session

    @operation("POST /v1/browser/page/navigate", scope="browser", acts="cdp")
    async def navigate(self, request: NavigateRequest) -> Reply[Landed]:
        """Load a URL in the page."""
        async with driving(self._session, request, "loading the page", revive=True) as driven:
            timeout = milliseconds(request.timeout)
            response = await driven.frame.goto(address(request.url), wait_until=request.wait_until, timeout=timeout)
            landed = await self._location(driven, response)
        return await with_hint(self._session, landed)

    @operation(
        "POST /v1/browser/page/back",
        operation_id="back",
        scope="browser",
        tool="browser_go_back",
        aliases=("sandbox_browser_go_back",),
        acts="cdp",
    )
    async def go_back(self, request: ReloadRequest) -> Reply[Landed]:
        """Go back in the history."""
        return await self._go(request, -1)

    @operation(
        "POST /v1/browser/page/forward",
        operation_id="forward",
        scope="browser",
        tool="browser_go_forward",
        aliases=("sandbox_browser_go_forward",),
        acts="cdp",
    )
    async def go_forward(self, request: ReloadRequest) -> Reply[Landed]:
        """Go forward in the history."""
        return await self._go(request, 1)

    @operation("POST /v1/browser/page/reload", scope="browser", acts="cdp")
    async def reload(self, request: ReloadRequest) -> Reply[Landed]:
        """Reload the page, also if it crashed or hangs."""
        url = (await self._session.tab(request.tab)).url
        timeout, until = milliseconds(request.timeout), request.wait_until
        async with driving(self._session, request, "reloading the page", revive=True) as driven:
            if driven.revived:
                response = await driven.page.goto(url, wait_until=until, timeout=timeout)
            else:
                response = await driven.page.reload(wait_until=until, timeout=timeout)
            landed = await self._location(driven, response)
        return await with_hint(self._session, landed)

    async def _go(self, request: ReloadRequest, steps: int) -> Reply[Landed]:
        async with driving(self._session, request, "going through the history") as driven:
            await _expect_entry(driven, steps)
            go = driven.page.go_back if steps < 0 else driven.page.go_forward
            landed = await self._location(driven, await go(wait_until=request.wait_until, timeout=milliseconds(request.timeout)))
        return await with_hint(self._session, landed)

    async def _location(self, driven: Driven, response: "Response | None") -> Landed:
        return Landed(url=driven.frame.url, title=await self._session.title(driven), status=response.status if response else None)


def address(url: str) -> str:
    """Return a URL with a scheme; `localhost:3000` has none."""
    return url if _SCHEME.match(url) else f"http://{url}"


async def _expect_entry(driven: Driven, steps: int) -> None:
    session = await driven.page.context.new_cdp_session(driven.page)
    history = await session.send("Page.getNavigationHistory")
    await session.detach()
    if not 0 <= history["currentIndex"] + steps < len(history["entries"]):
        raise Conflict(f"there is no page to go {'back' if steps < 0 else 'forward'} to", reason="no_history")
