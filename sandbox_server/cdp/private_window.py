"""The private window: a window for a person in private mode, in a browser context without cookies, storage or scripts.

It exists while that person is in private mode. Downloads are off in it, because the agent can read the download folder.
"""

import asyncio
import logging
from contextlib import suppress
from typing import NamedTuple

from sandbox_server.cdp.browser_connection import BrowserLink, CommandRefused
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.tab_strip import InternalClient
from sandbox_server.core.control import Holding
from sandbox_server.core.errors import Conflict, ResourceExhausted, Unavailable
from sandbox_server.timeouts import scaled

BLANK = "about:blank"
CLOSE_SECONDS = scaled(1.0)
"""Seconds to close the window. If it fails, the browser is ended, because nobody else may see the window."""
END_SECONDS = scaled(4.0)
"""Seconds for the browser to end."""
GO_SECONDS = scaled(2.0)
MAX_PAGES = 50
"""Limit of pages in the window."""

log = logging.getLogger(__name__)


class _Window(NamedTuple):
    link: BrowserLink
    pid: int | None
    context: str
    person: str


class PrivateWindow:
    """Opens and closes the private window."""

    def __init__(self, browser: BrowserSupervisor) -> None:
        self._browser = browser
        self._window: _Window | None = None
        self._turn = asyncio.Lock()

    async def open(self, person: str, url: str) -> None:
        """Open a window at a URL and bring it to the front, in the existing context if there is one.

        Raises Conflict if that person is not in private mode, ResourceExhausted at the limit of pages, and Unavailable.
        """
        async with self._turn:
            link = await self._browser.link()
            if self._browser.holding.private != person:
                raise Conflict(f"{person} is not in private mode", reason="not_private")
            context = await self._context(link, person)
            try:
                await _show(link, context, url)
            except CommandRefused as refused:
                raise Unavailable(f"the browser cannot open a window: {refused}", retry_after=1.0) from None

    async def keep(self, holding: Holding | None = None) -> None:
        """Close the window, unless its person is still in private mode."""
        async with self._turn:
            if self._window and (holding is None or holding.private != self._window.person):
                await self._close()

    async def _context(self, link: BrowserLink, person: str) -> str:
        if self._window and self._window.link is link and not link.over:
            return self._window.context
        context = str((await link.command("Target.createBrowserContext", disposeOnDetach=True))["browserContextId"])
        link.hidden_targets.add(context)
        self._window = _Window(link, self._browser.pid, context, person)
        return context

    async def _close(self) -> None:
        """Close the context; Chromium does not ask pages for permission."""
        window, self._window = self._window, None
        if window is None or window.link.over:
            return
        try:
            await window.link.command("Target.disposeBrowserContext", CLOSE_SECONDS, browserContextId=window.context)
        except CommandRefused as refused:
            log.info("a person's window is closed already: %s", refused)
        except BaseException as error:  # noqa: BLE001 - whatever it is, cancelling too: a window that may be open is closed by force
            log.warning("the browser is ended, for it does not close a person's window: %r", error)
            window.link.close("a person's window could not be closed")
            await self._until_gone(window.pid)

    async def _until_gone(self, pid: int | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                while self._browser.pid == pid is not None:  # noqa: ASYNC110 - nothing tells when it is
                    await asyncio.sleep(0.02)


async def _show(link: BrowserLink, context: str, url: str) -> None:
    await link.command("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
    infos = (await link.command("Target.getTargets"))["targetInfos"]
    if sum(info.get("browserContextId") == context for info in infos) >= MAX_PAGES:
        raise ResourceExhausted(f"the window has {MAX_PAGES} pages", limit=MAX_PAGES)
    opened = await link.command("Target.createTarget", url=BLANK, browserContextId=context, newWindow=True)
    await link.command("Target.activateTarget", targetId=opened["targetId"])
    if url != BLANK:
        await _go(link, str(opened["targetId"]), url)


async def _go(link: BrowserLink, page: str, url: str) -> None:
    """Navigate to a URL. The navigation is started once, and slow sites are not waited for."""
    insider = await InternalClient.of(link)
    try:
        session = (await insider.command("Target.attachToTarget", targetId=page, flatten=True))["sessionId"]
        with suppress(Unavailable):
            await insider.command("Page.navigate", session, GO_SECONDS, url=url)
    finally:
        insider.leave()
