"""Browser tools that read, with the arguments that agents know."""

from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Blob, Model, Reply, operation
from sandbox_server.core.control import Reach
from sandbox_server.drivers.browser import script_results
from sandbox_server.drivers.browser.scripts import script
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.features.browser.page.page_operation import (
    READ_SECONDS,
    Acting,
    Index,
    Seconds,
    Selector,
    Targeted,
    driving,
    shown_frames,
    with_hint,
)
from sandbox_server.features.browser.page.reading import MEDIA_TYPES, EvaluateRequest, PageScreenshotRequest, Reading
from sandbox_server.features.browser.tools.listing import Outline

MAX_LINKS = 1000
"""Limit of links of one frame, as in `drivers/browser/scripts/links.js`."""


class EvaluateCall(Acting):
    script: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    """JavaScript, such as `() => document.title`; statements may `return` a result."""
    timeout: Seconds = READ_SECONDS
    """Seconds to wait for the result."""


class ScreenshotCall(Targeted):
    name: str | None = None
    """A name for the caller's own use."""
    selector: Selector | None = None
    """Only the first element that matches."""
    index: Index | None = None
    """Only the element of this index."""
    fullPage: bool = False  # noqa: N815 - the name that agents know
    """The whole page instead of its visible part."""

    @property
    def acts(self) -> tuple[Reach, ...]:
        """What it acts on: what the same picture of the page does."""
        return self.picture.acts

    @property
    def picture(self) -> PageScreenshotRequest:
        """The same request of the page's operation."""
        return PageScreenshotRequest(full_page=self.fullPage, **self.model_dump(exclude={"name", "fullPage"}))


class Link(Model):
    text: str
    href: str


class _Links(Model):
    """The result of `drivers/browser/scripts/links.js`."""

    found: Annotated[list[Link], Field(max_length=MAX_LINKS)]
    left: Annotated[int, Field(ge=0)]


class ReadingTools:
    """Tools that list, read and take screenshots."""

    tag = "browser-tools"

    def __init__(self, session: BrowserSession, outline: Outline, reading: Reading) -> None:
        self._session = session
        self._outline = outline
        self._reading = reading

    @operation(
        "GET /v1/browser/tools/elements",
        scope="browser",
        tool="browser_get_clickable_elements",
        page_text=True,
        aliases=("sandbox_browser_get_clickable_elements",),
    )
    async def tool_elements(self, request: Targeted) -> Reply[str]:
        """List the interactive elements, with the page's text between them."""
        return await with_hint(self._session, await self._outline.read(request))

    @operation(
        "GET /v1/browser/tools/markdown",
        scope="browser",
        tool="browser_get_markdown",
        page_text=True,
        aliases=("sandbox_browser_get_markdown",),
    )
    async def tool_markdown(self, request: Targeted) -> Reply[str]:
        """Read the page's main content as Markdown."""
        article = await self._reading.get_markdown(request)
        return Reply(article.data.content, hint=article.hint)

    @operation("GET /v1/browser/tools/links", scope="browser", tool="browser_read_links", aliases=("sandbox_browser_read_links",))
    async def tool_links(self, request: Targeted) -> Reply[list[Link]]:
        """List the links of the page and its frames, at most 1,000 of each.

        URLs over 8,192 characters are shortened with `…`.
        """
        async with driving(self._session, request, "reading the links") as driven:
            found = [await script_results.answer(frame, script("links"), None, _Links) for frame in shown_frames(driven)]
        links, left = [link for each in found for link in each.found], sum(each.left for each in found)
        hints = [await self._session.hint(), f"{left} more links were not listed." if left else None]
        return Reply(links, hint=" ".join(filter(None, hints)) or None)

    @operation(
        "POST /v1/browser/tools/evaluate",
        scope="browser",
        tool="browser_evaluate",
        destructive=True,
        aliases=("sandbox_browser_evaluate",),
        acts="cdp",
    )
    async def tool_evaluate(self, request: EvaluateCall) -> Reply[Any]:
        """Run JavaScript in the page and return its result."""
        shared = request.model_dump(exclude={"script"})
        reply: Reply[Any] = await self._reading.evaluate(EvaluateRequest(expression=request.script, **shared))
        return reply

    @operation("GET /v1/browser/tools/screenshot", scope="browser", tool="browser_screenshot", media_type=MEDIA_TYPES)
    async def tool_screenshot(self, request: ScreenshotCall) -> Blob:
        """Take a screenshot of the page, or of one element."""
        picture: Blob = await self._reading.page_screenshot(request.picture)
        return picture
