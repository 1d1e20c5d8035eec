"""The tabs of the browser."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from sandbox_server.core import Conflict, Model, Reply, operation
from sandbox_server.drivers.browser.browser_client import BrowserTab
from sandbox_server.drivers.browser.dialogs import DialogAnswer
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.timeouts import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGE_SECONDS = scaled(10.0)
"""Seconds for a tab to open, close or come to the front."""


class TabRef(Model):
    index: Annotated[int, Field(ge=0)]
    """Its index in the list of tabs."""


class CreatePageRequest(Model):
    url: Annotated[str, Field(max_length=2_000_000)] | None = None
    """The URL to open; null is a blank page."""


class TabState(Model):
    index: int
    """Its position, from 0. It changes when a tab before it is closed or moved."""
    url: str
    title: str
    active: bool
    """Whether it is in front. Operations on a page use it unless they name a tab."""


class BrowserTabs:
    """Opens, closes and activates tabs, also those whose page crashed or hangs."""

    tag = "browser-tabs"

    def __init__(self, session: BrowserSession) -> None:
        self._session = session

    @operation("GET /v1/browser/tabs", operation_id="list", scope="browser", tool="browser_tab_list", aliases=("sandbox_browser_tab_list",))
    async def list_tabs(self) -> Reply[list[TabState]]:
        """List the tabs in order."""
        tabs = await self._session.tabs()
        return Reply([_state(index, tab) for index, tab in enumerate(tabs)], hint=await self._session.hint())

    @operation(
        "POST /v1/browser/tabs",
        operation_id="create",
        scope="browser",
        tool="browser_new_tab",
        aliases=("sandbox_browser_new_tab",),
        acts="cdp",
    )
    async def create_tab(self, request: CreatePageRequest) -> Reply[TabState]:
        """Open a tab in front. It exists when this answers; its page may still be loading."""
        page = await self._session.open(request.url or "about:blank")
        index, tab = await self._until(lambda tabs: _find(tabs, page), "the tab did not open")
        return Reply(_state(index, tab), hint=await self._session.hint())

    @operation("DELETE /v1/browser/tabs/{index}", operation_id="close", scope="browser", acts="cdp")
    async def close_tab(self, request: TabRef) -> Reply[None]:
        """Close a tab. If it was the last, the browser opens a blank one."""
        closing = await self._session.tab(request.index)
        await self._session.close(closing, DialogAnswer("accept"))
        await self._until(lambda tabs: tabs and not _find(tabs, closing.page), "the tab did not close")
        return Reply(None, hint=await self._session.hint())

    @operation(
        "PUT /v1/browser/tabs/{index}/activate",
        operation_id="activate",
        scope="browser",
        takes_body=False,
        tool="browser_switch_tab",
        aliases=("sandbox_browser_switch_tab",),
        acts="cdp",
    )
    async def activate_tab(self, request: TabRef) -> Reply[TabState]:
        """Bring a tab to the front."""
        chosen = await self._session.tab(request.index)
        await self._session.owner.activate(chosen.page)
        index, tab = await self._until(lambda tabs: _find(tabs, chosen.page, active=True), "the tab did not come to the front")
        return Reply(_state(index, tab), hint=await self._session.hint())

    async def _until[T](self, found: "Callable[[list[BrowserTab]], T | None]", complaint: str) -> T:
        try:
            result = await self._session.until(found, CHANGE_SECONDS)
        except TimeoutError:
            result = None
        if result is None:
            raise Conflict(complaint, reason="timeout")
        return result


def _find(tabs: list[BrowserTab], page: str, *, active: bool = False) -> tuple[int, BrowserTab] | None:
    return next(((index, tab) for index, tab in enumerate(tabs) if tab.page == page and (tab.active or not active)), None)


def _state(index: int, tab: BrowserTab) -> TabState:
    return TabState(index=index, url=tab.url, title=tab.title, active=tab.active)
