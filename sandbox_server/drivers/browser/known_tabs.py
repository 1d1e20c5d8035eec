"""The tab strip over the DevTools connection that is kept: one trip, once it is known which page is in which tab.

Chromium tells the place of `tab` targets alone, and clients drive the `page` in each. The browser's process knows which belong together; it
is asked again when a tab is new, or has another page than before.
"""

from contextlib import suppress

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.browser.browser_client import BrowserClient, BrowserTab
from sandbox_server.drivers.devtools.connection import DevtoolsRefused, Object
from sandbox_server.drivers.devtools.page_commands import PageCommands
from sandbox_server.timeouts import scaled

READ_SECONDS = scaled(2.0)
"""For the browser to list its targets; then its process is asked, which knows why it does not."""


class KnownTabs:
    """Reads the tab strip."""

    def __init__(self, owner: BrowserClient, commands: PageCommands) -> None:
        self._owner = owner
        self._commands = commands
        self._pages: dict[str, str] = {}
        """The page in each tab, by their target ids."""

    async def read(self) -> list[BrowserTab]:
        """The tabs in the order of the strip; raises Unavailable while there is no browser."""
        if self._pages and self._commands.live:
            with suppress(DevtoolsRefused, TimeoutError, Unavailable):
                listed = await self._commands.list_targets(READ_SECONDS)
                if (tabs := self._known(listed)) is not None:
                    return tabs
        tabs = await self._owner.tabs()
        self._pages = {tab.tab: tab.page for tab in tabs}
        return tabs

    def _known(self, listed: list[Object]) -> list[BrowserTab] | None:
        """The tabs among targets; None where the page of one is not known."""
        pages = {info["targetId"] for info in listed if info["type"] == "page"}
        shown = [info for info in listed if info["type"] == "tab" and info.get("embedderData")]
        if not shown or any(self._pages.get(info["targetId"]) not in pages for info in shown):
            return None
        shown.sort(key=lambda info: int(info["embedderData"]["tabStripIndex"]))
        return [self._tab(info) for info in shown]

    def _tab(self, info: Object) -> BrowserTab:
        tab = info["targetId"]
        return BrowserTab(self._pages[tab], info["url"], info["title"], info["embedderData"]["tabActive"], tab)
