"""The session of the page operations on the browser: attached on first use, and again after either end was lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sandbox_server.core.errors import Conflict, Failure, NotFound, Unavailable
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.browser.browser_client import BrowserClient, BrowserTab
from sandbox_server.drivers.browser.dialogs import DialogAnswer, PageDialogs
from sandbox_server.drivers.browser.evaluation import Evaluation, compiles, in_frame
from sandbox_server.drivers.browser.iframes import frame_of
from sandbox_server.drivers.browser.known_tabs import KnownTabs
from sandbox_server.drivers.browser.page_events import BrowserNotices
from sandbox_server.drivers.browser.playwright_connection import Attachment, OnContext, OnPage, attached, crashed
from sandbox_server.drivers.browser.playwright_errors import translated
from sandbox_server.drivers.browser.script_results import MAX_FRAMES
from sandbox_server.drivers.browser.tab_titles import made_of
from sandbox_server.drivers.devtools.connection import DevtoolsRefused
from sandbox_server.drivers.devtools.page_commands import PageCommands
from sandbox_server.timeouts import scaled

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

ANSWER_SECONDS = scaled(3.0)
"""For a page to run a script of one word; one that takes longer is stuck."""
ATTACH_SECONDS = scaled(8.0)
"""For attaching: a page that answers nothing holds it up."""
PATIENT_SECONDS = scaled(30.0)
"""For attaching where every page answers: it is the machine that is slow."""
STRIP_SECONDS = scaled(2.0)
"""For a tab that was opened to go to its first address, and to get its place in the strip."""
LOOK_SECONDS = 0.01
MARGIN_SECONDS = scaled(5.0)
"""Beyond the timeout of a call, for what surrounds the work."""
TITLE_SECONDS = scaled(2.0)
"""For the browser to say what it calls a page; then the page is asked."""


@dataclass(frozen=True, slots=True)
class Driven:
    """A page, and the frame in it, that a call works on."""

    tab: BrowserTab
    page: "Page"
    frame: "Frame"
    revived: bool
    """Whether the page crashed or hung before, and is blank now."""


@dataclass(frozen=True, slots=True)
class _Question:
    """Whether a page answers, asked before it is known to be the one that a call is about."""

    page: str
    attachment: Attachment
    answer: asyncio.Task[bool]

    def is_about(self, page: str, attachment: Attachment) -> bool:
        """Whether it is the question that a call has to ask."""
        return page == self.page and attachment is self.attachment


class BrowserSession:
    """One attachment for all callers, with what is to be set up on each. `held` tells whether a person has the pages just now."""

    def __init__(self, owner: BrowserClient, held: Callable[[], bool] = lambda: False) -> None:
        self.owner = owner
        self._notices = BrowserNotices()
        self._dialogs = PageDialogs(self._notices, held)
        self._on_context: list[OnContext] = []
        self._on_page: list[OnPage] = [self._dialogs.watch]
        self._attachment: Attachment | None = None
        self._attaching = asyncio.Lock()
        self._opened = AsyncExitStack()
        self._commands = PageCommands(owner.socket)
        self._tabs = KnownTabs(owner, self._commands)
        self._front: str | None = None
        """The page that was in front at the latest look."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._dialogs.close()
        await self._commands.close()
        await self.drop()

    def on_context(self, hook: OnContext) -> None:
        """Have `hook(context, devtools)` awaited at every attaching, before any page can be had from it."""
        self._on_context.append(hook)

    def on_page(self, hook: OnPage) -> None:
        """Have `hook(page, target_id)` awaited for every page, old or new, before it can be had; again after every attaching."""
        self._on_page.append(hook)

    def listen(self, caller: str) -> None:
        """Make this task's hints those of a caller, who was told others than the next one."""
        self._notices.listen(caller)

    def notice(self, sentence: str) -> None:
        """Tell it in everybody's next hint."""
        self._notices.add(sentence)

    async def hint(self) -> str | None:
        """What happened since this caller last asked: tabs that were opened, dialogs, downloads.

        The browser is asked only where it told of a tab that nobody has seen yet.
        """
        attachment = self._attachment
        if attachment and self._notices.misses(attachment.targets):
            with suppress(Failure, TimeoutError):  # what was done is done, though the browser may be gone since
                await attachment.arrived(STRIP_SECONDS)
                await self.until(lambda tabs: attachment.targets <= {tab.page for tab in tabs}, STRIP_SECONDS)
        return self._notices.take()

    async def attachment(self) -> Attachment:
        """The live attachment.

        Raises Unavailable while there is no browser, Conflict where a page that answers nothing keeps Playwright out.
        """
        async with self._attaching:
            if self._attachment and self._attachment.lost:
                await self._close()
            if self._attachment is None:
                self._attachment = await self._attach()
            return self._attachment

    async def drop(self) -> None:
        """Let go of the browser; the next use attaches again."""
        async with self._attaching:
            await self._close()

    async def tabs(self) -> list[BrowserTab]:
        """The tabs in the order of the strip; raises Unavailable while there is no browser."""
        tabs = await self._tabs.read()
        self._notices.see(tabs)
        return tabs

    async def until[T](self, found: Callable[[list[BrowserTab]], T], within: float) -> T:
        """Look at the tabs until `found` gives something true; raises TimeoutError. Chromium tells of no change of the strip by itself."""
        async with asyncio.timeout(within):
            while True:
                if result := found(await self.tabs()):
                    return result
                await asyncio.sleep(LOOK_SECONDS)

    async def tab(self, index: int | None) -> BrowserTab:
        """The tab at a place of the strip, or the one in front; raises NotFound for a place where none is."""
        tabs = await self.tabs()
        if index is None and tabs:
            front = next((tab for tab in tabs if tab.active), tabs[0])
            self._front = front.page
            return front
        if index is None or index >= len(tabs):
            raise NotFound(f"there is no tab {index or 0}; there are {len(tabs)}", tab=index)
        return tabs[index]

    async def page(self, index: int | None = None) -> "Page":
        """The page of a tab, or of the one in front; raises NotFound, Unavailable, and Conflict for one that crashed or hangs."""
        tab = await self.tab(index)
        return await (await self.attachment()).page(tab.page)

    async def open(self, url: str) -> str:
        """Open a tab in front, which is no news to the caller, and return the target id of its page, which loads on."""
        target = await self.owner.open(url)
        self._notices.know(target)
        return target

    async def close(self, tab: BrowserTab, answer: DialogAnswer) -> None:
        """Close a tab, whatever its page asks before it goes."""
        with self._dialogs.answered(tab.page, answer):
            await self._dialogs.settle(answer, tab.page)
            await self.owner.close(tab.page)

    async def title(self, driven: Driven) -> str:
        """The title of a page, as the browser knows it; a page that just loaded is drawing, and answers only once it has drawn.

        Of a page without a title the browser makes one from its address: then the page is asked.
        """
        url = driven.page.url
        with suppress(DevtoolsRefused, TimeoutError, Unavailable):
            history = await self._commands.send(driven.tab.page, "Page.getNavigationHistory", {}, TITLE_SECONDS)
            entry = history["entries"][history["currentIndex"]]
            if entry["url"] == url and entry["title"] and not made_of(entry["title"], url):
                return str(entry["title"])
        return await driven.page.title()

    async def evaluate(self, driven: Driven, expression: str, timeout: float) -> Any:
        """What a script of a caller's gives in a page's main frame, or in the frame that is driven; raises as `Evaluation.value` does."""
        page, doing = driven.tab.page, "the script"
        async with asyncio.timeout(timeout):
            if driven.frame is driven.page.main_frame:
                return await Evaluation(self._commands, page, doing, timeout).value(expression)
            return await in_frame(driven.frame, expression, compiles=await compiles(self._commands, page, expression, timeout))

    @asynccontextmanager
    async def driving(
        self,
        doing: str,
        *,
        tab: int | None = None,
        frame: str | None = None,
        answer: DialogAnswer,
        timeout: float,
        revive: bool = False,
        direct: bool = False,
    ) -> AsyncIterator[Driven]:
        """Work on a page that answers, with its dialogs answered and its errors made ours, for at most `timeout` seconds and a margin.

        With `revive`, a page that crashed or hangs is made blank first; otherwise it is a Conflict, and so are a dialog's end, a navigation
        and a time that runs out. With `direct`, Playwright's driver is not asked whether it answers, as for work that does without it.
        Raises NotFound for a tab or frame that is not there.
        """
        asked = self._ask_ahead(direct=direct) if tab is None else None
        try:
            found = await self.tab(tab)
            page, revived = await self._responsive(found, answer, asked, revive=revive, direct=direct)
        finally:
            if asked:
                asked.answer.cancel()
        with translated(doing), self._dialogs.answered(found.page, answer):
            if len(page.frames) > MAX_FRAMES:
                self.notice(f"A page has {len(page.frames)} frames, of which {MAX_FRAMES} are looked into.")
            async with asyncio.timeout(timeout + MARGIN_SECONDS), self._seen(found, page):
                yield Driven(found, page, await frame_of(page, frame), revived)

    def _ask_ahead(self, *, direct: bool) -> _Question | None:
        """Ask the page that was in front whether it answers, while the strip is read; none that waits for a dialog's answer."""
        attachment, page = self._attachment, self._front
        if attachment is None or attachment.lost or page is None or not self._commands.knows(page) or self._dialogs.is_open():
            return None
        return _Question(page, attachment, start_task(self._answers(page, attachment, direct=direct)))

    async def _answers(self, page: str, attachment: Attachment, *, direct: bool) -> bool:
        """Whether a page runs scripts, and, unless `direct`, Playwright's driver answers."""
        driver = [] if direct else [attachment.alive()]
        return all(await asyncio.gather(self._commands.answers(page, ANSWER_SECONDS), *driver))

    async def _responsive(
        self, tab: BrowserTab, answer: DialogAnswer, asked: _Question | None, *, revive: bool, direct: bool
    ) -> "tuple[Page, bool]":
        """The page of a tab, and whether it had to be revived."""
        try:
            return await self._answering(tab, answer, asked, direct=direct), False
        except Conflict:
            if not revive:
                raise
            await self.owner.reset(tab.page)
            await self.drop()
            return await (await self.attachment()).page(tab.page), True

    async def _answering(self, tab: BrowserTab, answer: DialogAnswer, asked: _Question | None, *, direct: bool) -> "Page":
        """The page of a tab, once it runs scripts; where it does not because Playwright's driver died, that of another driver."""
        attachment = await self.attachment()
        try:
            return await self._expect_answer(attachment, tab, answer, asked, direct=direct)
        except Conflict:
            if self._dialogs.is_open() or await attachment.alive():
                raise
        await self._let_go(attachment)
        return await self._expect_answer(await self.attachment(), tab, answer, None, direct=direct)

    async def _expect_answer(
        self, attachment: Attachment, tab: BrowserTab, answer: DialogAnswer, asked: _Question | None, *, direct: bool
    ) -> "Page":
        """Make sure that the page runs scripts; a dialog of its own, or of another page in its process, may be what holds it."""
        page = await attachment.page(tab.page)
        await self._dialogs.settle(answer, tab.page)
        if self._dialogs.leaves(answer) and self._dialogs.is_open(tab.page):
            raise _waits_for_person()
        first = asked.answer if asked and asked.is_about(tab.page, attachment) else self._answers(tab.page, attachment, direct=direct)
        if await first or (await self._dialogs.settle(answer) and await self._answers(tab.page, attachment, direct=direct)):
            return page
        if self._attachment and tab.page not in self._attachment.pages:
            raise crashed()
        if self._dialogs.leaves(answer) and self._dialogs.is_open():
            raise _waits_for_person()
        raise Conflict(
            f"the page has not answered for {ANSWER_SECONDS:g} s and nothing was done",
            hint="It is busy with a script. Try again, reload it, or close its tab.",
            reason="not_responding",
        )

    @asynccontextmanager
    async def _seen(self, tab: BrowserTab, page: "Page") -> AsyncIterator[None]:
        """Let a page that is not in front draw as if it were, for as long as a call needs it."""
        if tab.active:
            yield
            return
        session = await page.context.new_cdp_session(page)
        await session.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
        try:
            yield
        finally:
            with suppress(Exception):  # the page may be gone
                await session.detach()

    async def _attach(self) -> Attachment:
        tabs = await self.tabs()  # starts the browser, and says better than a refused socket what keeps it
        with suppress(TimeoutError):
            return await self._attached(ATTACH_SECONDS)
        await self._expect_answers(tabs)
        try:
            return await self._attached(PATIENT_SECONDS)
        except TimeoutError:
            raise Unavailable("the browser is too slow to be driven", retry_after=1.0) from None

    async def _attached(self, within: float) -> Attachment:
        return await self._opened.enter_async_context(attached(self.owner.socket, self._on_context, self._on_page, within))

    async def _expect_answers(self, tabs: list[BrowserTab]) -> None:
        """Raise Conflict that says which tabs keep Playwright out, if any does."""
        answers = await asyncio.gather(*(self.owner.answers(tab.page, ANSWER_SECONDS) for tab in tabs))
        if stuck := [index for index, answer in enumerate(answers) if not answer]:
            raise Conflict(
                f"a page that does not answer keeps the browser from being driven: tab {', '.join(map(str, stuck))}",
                hint="Navigate, reload or close these tabs.",
                reason="not_responding",
                tabs=stuck,
            )

    async def _let_go(self, attachment: Attachment) -> None:
        """Let go of an attachment that is dead, unless another call has."""
        async with self._attaching:
            if self._attachment is attachment:
                await self._close()

    async def _close(self) -> None:
        self._attachment = None
        opened, self._opened = self._opened, AsyncExitStack()
        with suppress(Exception):  # a driver that died cannot say goodbye
            await opened.aclose()


def _waits_for_person() -> Conflict:
    return Conflict(
        "a dialog of the page waits for the person who has control, and until then the page answers nothing",
        hint="A screenshot of the screen shows it. Try again once it is answered.",
        reason="dialog",
    )
