"""Playwright on the browser's DevTools: one connection, from attaching to whichever of its ends comes first."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.browser.browser_client import HEADERS, RETRY_AFTER
from sandbox_server.timeouts import scaled

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page

type OnContext = Callable[[BrowserContext, CDPSession], Awaitable[None]]
type OnPage = Callable[[Page, str], Awaitable[None]]

APPEAR_SECONDS = scaled(5.0)
"""For Playwright to see a tab that the browser has; it never sees one that crashed or hangs."""
HOOK_SECONDS = scaled(5.0)
PULSE_SECONDS = scaled(2.0)
"""For the driver to answer, after a page has not."""
UNSHOWN = ("devtools://", "chrome-extension://", "chrome-untrusted://")
"""Pages that are in no tab of a person's."""

log = logging.getLogger(__name__)


class Attachment:
    """The pages of the person's own context, by target id. Its hooks have run for a page before it can be had."""

    def __init__(self, browser: "Browser", devtools: "CDPSession", on_page: list[OnPage]) -> None:
        self.context = browser.contexts[0]
        self.devtools = devtools
        """A session on the browser itself, as events of downloads and targets come to."""
        self._driver_ended = False
        self._browser = browser
        self._on_page = on_page
        self.targets: set[str] = set()
        """Target ids of all pages of the person's, told at once; the tab strip has a new one a moment later."""
        self._pages: dict[str, Page] = {}
        self._crashed: set[str] = set()
        """Target ids of pages whose renderer crashed: Playwright does not see such a page again."""
        self._changed = asyncio.Event()
        self._tasks = Tasks()

    async def begin(self, on_context: list[OnContext]) -> None:
        """Run the hooks on the context and on the pages that are there; later pages follow by themselves."""
        await self._follow_targets()
        for hook in on_context:
            await _bounded(hook(self.context, self.devtools))
        self.context.on("page", lambda page: self._tasks.start(self._take(page), name="new page"))
        if takes := [self._tasks.start(self._take(page), name="page") for page in self.context.pages]:
            await asyncio.wait(takes, timeout=APPEAR_SECONDS)  # one that takes longer appears later

    async def close(self) -> None:
        """Forget the pages; the connection is closed by whoever opened it."""
        await self._tasks.close()

    @property
    def pages(self) -> "dict[str, Page]":
        """Every page that Playwright sees, by target id."""
        return dict(self._pages)

    @property
    def lost(self) -> bool:
        """Whether the browser that it is attached to, or the driver between, has ended; both are told as it happens."""
        return self._driver_ended or not self._browser.is_connected()

    def end(self) -> None:
        """Learn that the driver has ended."""
        self._driver_ended = True

    async def arrived(self, within: float) -> None:
        """Wait until Playwright has every page that the browser told of, each at its first address; raises TimeoutError."""
        async with asyncio.timeout(within):
            while not self.targets <= self._pages.keys():
                self._changed.clear()
                await self._changed.wait()

    async def alive(self) -> bool:
        """Whether Playwright's driver and the browser behind it still answer."""
        if self.lost:
            return False
        with suppress(Exception):  # Playwright's own word for a driver that died is any of its errors
            async with asyncio.timeout(PULSE_SECONDS):
                await self.devtools.send("Browser.getVersion")
                return True
        return False

    async def page(self, target: str) -> "Page":
        """The page of a tab; raises Conflict when Playwright does not see it, as when its renderer crashed or hangs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(APPEAR_SECONDS):
                while target not in self._pages:
                    if target in self._crashed:
                        raise crashed()
                    self._changed.clear()
                    await self._changed.wait()
                return self._pages[target]
        raise crashed()

    async def _follow_targets(self) -> None:
        own = (await self.devtools.send("Target.getBrowserContexts"))["defaultBrowserContextId"]

        def created(event: dict[str, Any]) -> None:
            info = event["targetInfo"]
            shown = not info["url"].startswith(UNSHOWN) and info.get("subtype") != "prerender"
            if info["type"] == "page" and info.get("browserContextId") == own and shown:
                self.targets.add(info["targetId"])

        def destroyed(event: dict[str, Any]) -> None:
            self.targets.discard(event["targetId"])
            self._crashed.discard(event["targetId"])

        self.devtools.on("Target.targetCreated", created)
        self.devtools.on("Target.targetDestroyed", destroyed)
        await self.devtools.send("Target.setDiscoverTargets", {"discover": True})

    async def _take(self, page: "Page") -> None:
        """Learn a page's target id, which takes a session of its own for a moment, and let the hooks see it."""
        try:
            session = await self.context.new_cdp_session(page)
            target = str((await session.send("Target.getTargetInfo"))["targetInfo"]["targetId"])
            await session.detach()
        except Exception as error:  # noqa: BLE001 - Playwright raises errors of many kinds where a page closed or crashed meanwhile
            log.info("a page was gone before it could be looked at: %s", error)
            return
        for hook in self._on_page:
            await _bounded(hook(page, target))
        page.on("close", lambda page: self._drop(target, page))
        page.on("crash", lambda page: self._drop(target, page, has_crashed=True))
        if not page.is_closed():
            self._pages[target] = page
            self._changed.set()

    def _drop(self, target: str, page: "Page", *, has_crashed: bool = False) -> None:
        if self._pages.get(target) is not page:
            return
        del self._pages[target]
        if has_crashed:
            self._crashed.add(target)
            self._changed.set()


def crashed() -> Conflict:
    """What a page is that Playwright does not see, or no longer."""
    return Conflict("the page in this tab crashed, or hangs", hint="Navigate or reload it, or close its tab.", reason="crashed")


@asynccontextmanager
async def attached(socket: str, on_context: list[OnContext], on_page: list[OnPage], within: float) -> AsyncIterator[Attachment]:
    """Attach; the first time imports Playwright and starts its driver, half a second.

    Raises TimeoutError when that takes more than `within` seconds, as when a page holds it up, and Unavailable while the browser cannot be
    reached.
    """
    from playwright.async_api import Error, async_playwright
    from playwright.async_api import TimeoutError as OutOfTime

    async with async_playwright() as playwright:
        endpoint = f"ws+unix://{socket}:/devtools/browser/api"
        try:
            browser = await playwright.chromium.connect_over_cdp(
                endpoint, headers=HEADERS, is_local=True, no_defaults=True, timeout=within * 1000
            )
        except OutOfTime:
            raise TimeoutError from None
        except Error as error:
            raise Unavailable(f"the browser cannot be reached: {error.message.splitlines()[0]}", retry_after=RETRY_AFTER) from None
        attachment = Attachment(browser, await browser.new_browser_cdp_session(), on_page)
        playwright._impl_obj._connection.on("close", attachment.end)  # nothing public tells of it but a call that fails
        try:
            await attachment.begin(on_context)
            yield attachment
        finally:
            await attachment.close()
            with suppress(Error):
                await browser.close()


async def _bounded(hook: Awaitable[None]) -> None:
    """Run a hook; one that fails or takes too long does not keep a page from being driven."""
    try:
        async with asyncio.timeout(HOOK_SECONDS):
            await hook
    except Exception:
        log.exception("a hook on a page failed")
