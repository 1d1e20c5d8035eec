"""The tab strip: all tabs in order, and the active one.

Chromium sends no event when a tab is activated or moved, so each call queries it. Chromium reports this for `tab`
targets only, but clients drive the `page` inside. A short attachment to the tab finds its page.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink, CommandRefused
from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.messages import Object, encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.timeouts import scaled

PAGE_TIMEOUT = scaled(1.0)
"""Seconds for a page, which may be stuck in a script, to report its size."""


@dataclass(frozen=True, slots=True)
class StripTab:
    """One tab of a window."""

    page: str
    """Target id of the tab's page."""
    url: str
    title: str
    index: int
    """Position in the strip, from 0."""
    active: bool
    """Whether it is the active tab of its window."""
    tab: str
    """The tab's own target id."""


class InternalClient:
    """A DevTools client inside this process. It sends one command at a time and keeps events until the next."""

    def __init__(self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox) -> None:
        self.link = link
        self.events: list[Object] = []
        self._peer = peer
        self._outbox = outbox
        self._last = 0

    @classmethod
    async def of(cls, link: BrowserLink) -> "InternalClient":
        """Attach to the browser."""
        return cls(link, *await link.attach(OWNER, None))

    async def command(self, method: str, session: str | None = None, timeout: float = COMMAND_TIMEOUT, **params: object) -> Object:
        """Send a command and return its result.

        Raises CommandRefused if Chromium answers with an error, Unavailable if it does not answer in time.
        """
        self._last += 1
        self.events.clear()
        address = {"sessionId": session} if session else {}
        self.link.send(self._peer, encode({"id": self._last, "method": method, "params": params, **address}))
        try:
            async with asyncio.timeout(timeout):
                return await self._answer()
        except TimeoutError:
            raise Unavailable(f"the browser did not answer {method}", retry_after=1.0) from None

    def leave(self) -> None:
        """Disconnect from the browser and from every target."""
        self.link.detach(self._peer)

    async def _answer(self) -> Object:
        while (message := await self._outbox.get()) is not None:
            parsed = orjson.loads(message)
            if parsed.get("id") == self._last:
                if "error" in parsed:
                    raise CommandRefused(str(parsed["error"]["message"]))
                result: Object = parsed["result"]
                return result
            self.events.append(parsed)
        raise Unavailable(self._outbox.closed or "the browser ended", retry_after=1.0)


class TabStrip:
    """Reads the tab strip of the running browser."""

    def __init__(self) -> None:
        self._insider: InternalClient | None = None
        self._pages: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def tabs(self, link: BrowserLink) -> list[StripTab]:
        """Return the tabs, ordered by window and position; raises Unavailable."""
        async with self._lock:
            insider = await self._enter(link)
            found = link.hidden_targets.without(await insider.command("Target.getTargets", filter=[{}]))["targetInfos"]
            pages = {info["targetId"] for info in found if info["type"] == "page"}
            shown = [info for info in found if info["type"] == "tab" and info.get("embedderData")]
            named = [(await self._page_of(insider, info["targetId"], pages), info) for info in shown]
        return sorted((_tab(page, info) for page, info in named if page), key=lambda tab: tab.index)

    async def page_size(self, link: BrowserLink) -> tuple[int, int]:
        """Return width and height of the page in front, in CSS pixels.

        Raises NotFound if there is no page, Unavailable if it does not answer.
        """
        front = next((tab for tab in await self.tabs(link) if tab.active), None)
        if front is None:
            raise NotFound("the browser has no open page")
        async with self._lock:
            insider = await self._enter(link)
            session = (await insider.command("Target.attachToTarget", targetId=front.page, flatten=True))["sessionId"]
            try:
                metrics = await insider.command("Page.getLayoutMetrics", session, timeout=PAGE_TIMEOUT)
            finally:
                await insider.command("Target.detachFromTarget", sessionId=session)
        size = metrics["cssLayoutViewport"]
        return int(size["clientWidth"]), int(size["clientHeight"])

    async def _enter(self, link: BrowserLink) -> InternalClient:
        if self._insider is None or self._insider.link is not link:
            self._insider, self._pages = await InternalClient.of(link), {}
        return self._insider

    async def _page_of(self, insider: InternalClient, tab: str, pages: set[str]) -> str | None:
        """Return the page in a tab, which some navigations replace; None if the tab is closing."""
        if self._pages.get(tab) not in pages:
            try:
                self._pages[tab] = await _look(insider, tab)
            except (NotFound, CommandRefused):
                self._pages.pop(tab, None)
        return self._pages.get(tab)


async def _look(insider: InternalClient, tab: str) -> str:
    session = (await insider.command("Target.attachToTarget", targetId=tab, flatten=True))["sessionId"]
    await insider.command("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    seen = [event["params"]["targetInfo"] for event in insider.events if event.get("method") == "Target.attachedToTarget"]
    await insider.command("Target.detachFromTarget", sessionId=session)
    for info in seen:
        if info["type"] == "page" and info.get("subtype") != "prerender":
            return str(info["targetId"])
    raise NotFound(f"the tab {tab} has no page")


def _tab(page: str, info: dict[str, Any]) -> StripTab:
    place = info["embedderData"]
    return StripTab(page, info["url"], info["title"], place["tabStripIndex"], place["tabActive"], info["targetId"])
