"""The browser as features drive it: attached when first needed, attached again when either end was lost."""

import asyncio
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sandbox_server.core.errors import Conflict, NotFound
from sandbox_server.drivers.browser.attachment import Attachment, OnContext, OnPage, attached
from sandbox_server.drivers.browser.owner import Owner, Tab

if TYPE_CHECKING:
    from playwright.async_api import Page

ANSWER_SECONDS = 3.0
"""For a page to run a script of one word; one that takes longer is stuck."""


class BrowserSession:
    """One attachment for all callers, with what is to be set up on each."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._on_context: list[OnContext] = []
        self._on_page: list[OnPage] = []
        self._attachment: Attachment | None = None
        self._attaching = asyncio.Lock()
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.drop()

    def on_context(self, hook: OnContext) -> None:
        """Have `hook(context, devtools)` awaited at every attaching, before any page can be had from it."""
        self._on_context.append(hook)

    def on_page(self, hook: OnPage) -> None:
        """Have `hook(page, target_id)` awaited for every page, old or new, before it can be had; again after every attaching."""
        self._on_page.append(hook)

    async def attachment(self) -> Attachment:
        """The live attachment.

        Raises Unavailable while there is no browser, Conflict where a page that answers nothing keeps Playwright out.
        """
        async with self._attaching:
            if self._attachment and not await self._attachment.alive():
                await self._close()
            if self._attachment is None:
                self._attachment = await self._attach()
            return self._attachment

    async def drop(self) -> None:
        """Let go of the browser; the next use attaches again."""
        async with self._attaching:
            await self._close()

    async def tab(self, index: int | None) -> Tab:
        """The tab at a place of the strip, or the one in front; raises NotFound for a place where none is."""
        tabs = await self.owner.tabs()
        if index is None:
            return next((tab for tab in tabs if tab.active), tabs[0])
        if not 0 <= index < len(tabs):
            raise NotFound(f"there is no tab {index}; there are {len(tabs)}", tab=index)
        return tabs[index]

    async def page(self, index: int | None = None) -> "Page":
        """The page of a tab, or of the one in front; raises NotFound, Unavailable, and Conflict for one that crashed or hangs."""
        tab = await self.tab(index)
        return await (await self.attachment()).page(tab.page)

    async def _attach(self) -> Attachment:
        tabs = await self.owner.tabs()  # starts the browser, and says better than a refused socket what keeps it
        try:
            return await self._opened.enter_async_context(attached(self.owner.socket, self._on_context, self._on_page))
        except TimeoutError:
            raise await self._stuck(tabs) from None

    async def _stuck(self, tabs: list[Tab]) -> Conflict:
        """Say which tabs keep Playwright out."""
        answers = await asyncio.gather(*(self.owner.answers(tab.page, ANSWER_SECONDS) for tab in tabs), return_exceptions=True)
        stuck = [index for index, answer in enumerate(answers) if answer is not True]
        return Conflict(
            "a page that does not answer keeps the browser from being driven" + (f": tab {', '.join(map(str, stuck))}" if stuck else ""),
            hint="Navigate, reload or close these tabs.",
            reason="not_responding",
            tabs=stuck,
        )

    async def _close(self) -> None:
        self._attachment = None
        opened, self._opened = self._opened, AsyncExitStack()
        with suppress(Exception):  # a driver that died cannot say goodbye
            await opened.aclose()
