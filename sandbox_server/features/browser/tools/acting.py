"""Browser tools that change something, with the arguments that agents know."""

from typing import Annotated

from pydantic import Field

from sandbox_server.core import Model, Reply, operation
from sandbox_server.drivers.browser import script_results
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.features.browser.page.forms import FillRequest, FormFillRequest, Forms, PageField
from sandbox_server.features.browser.page.input import ClickRequest, OneElement, PageInput, Scrolled, scroll_by
from sandbox_server.features.browser.page.navigation import NavigateRequest, Navigation
from sandbox_server.features.browser.page.page_operation import MAX_TEXT, Acting, Index, driving, with_hint
from sandbox_server.features.browser.tabs import BrowserTabs, TabRef
from sandbox_server.features.browser.tools.listing import STALE, Outline

END = 10_000_000
"""Pixels that reach the end of any page."""


class NavigateCall(Model):
    url: Annotated[str, Field(min_length=1, max_length=2_000_000)]
    """The URL."""
    tab: Index | None = None
    """The tab, by its index in `browser_tab_list`; null is the one in front."""


class FillCall(OneElement):
    value: Annotated[str, Field(max_length=MAX_TEXT)]
    """The text."""
    clear: bool = False
    """Clear the field first. Without it the text is appended."""


class SelectCall(OneElement):
    value: str
    """The option's value, or its text."""


class ScrollCall(Acting):
    amount: Annotated[int, Field(ge=-END, le=END)] | None = None
    """Pixels down, or up if negative; null scrolls to the bottom."""


class VisionClickCall(Acting):
    x: Annotated[float, Field(ge=0)]
    """Pixels from the left edge of the page's window, or in the units of `factors`."""
    y: Annotated[float, Field(ge=0)]
    """Pixels from its top edge, or in the units of `factors`."""
    factors: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)] | None = None
    """The values of x and y at the right and lower edge, such as `[1000, 1000]`; null is the window's own size."""


class ActingTools:
    """Tools that navigate, fill, choose, scroll, click and close."""

    tag = "browser-tools"

    def __init__(
        self, session: BrowserSession, outline: Outline, navigation: Navigation, page_input: PageInput, forms: Forms, tabs: BrowserTabs
    ) -> None:
        self._session = session
        self._outline = outline
        self._navigation = navigation
        self._page_input = page_input
        self._forms = forms
        self._tabs = tabs

    @operation(
        "POST /v1/browser/tools/navigate",
        scope="browser",
        tool="browser_navigate",
        page_text=True,
        aliases=("sandbox_browser_navigate",),
        acts="cdp",
    )
    async def tool_navigate(self, request: NavigateCall) -> Reply[str]:
        """Load a URL, and list the interactive elements there."""
        landed = await self._navigation.navigate(NavigateRequest(url=request.url, tab=request.tab))
        outline = await self._outline.read(Acting(tab=request.tab))
        return Reply(f"Navigated to {landed.data.url}\n{STALE}\n{outline}", hint=landed.hint)

    @operation(
        "POST /v1/browser/tools/fill",
        scope="browser",
        tool="browser_form_input_fill",
        idempotent=True,
        aliases=("sandbox_browser_form_input_fill",),
        acts="cdp",
    )
    async def tool_fill(self, request: FillCall) -> Reply[None]:
        """Fill a field."""
        before = "" if request.clear else await self._forms.value_of(request)
        shared = request.model_dump(exclude={"value", "clear"})
        reply: Reply[None] = await self._forms.fill(FillRequest(text=before + request.value, **shared))
        return reply

    @operation(
        "POST /v1/browser/tools/select",
        scope="browser",
        tool="browser_select",
        idempotent=True,
        aliases=("sandbox_browser_element_select", "browser_element_select"),
        acts="cdp",
    )
    async def tool_select(self, request: SelectCall) -> Reply[None]:
        """Choose an option of a list."""
        item = PageField(selector=request.selector, index=request.index, value=request.value)
        shared = request.model_dump(exclude={"value", "selector", "index"})
        filled = await self._forms.fill_form(FormFillRequest(items=[item], **shared))
        return Reply(None, hint=filled.hint)

    @operation("POST /v1/browser/tools/scroll", scope="browser", tool="browser_scroll", aliases=("sandbox_browser_scroll",), acts="cdp")
    async def tool_scroll(self, request: ScrollCall) -> Reply[Scrolled]:
        """Scroll the page, by default to its bottom."""
        async with driving(self._session, request, "scrolling") as driven:
            scrolled = await scroll_by(driven, y=END if request.amount is None else request.amount)
        return await with_hint(self._session, scrolled)

    @operation("POST /v1/browser/tools/click", scope="browser", tool="browser_vision_screen_click", destructive=True, acts="cdp")
    async def tool_click(self, request: VisionClickCall) -> Reply[None]:
        """Click a point of the page's window, as seen in `browser_vision_screen_capture`."""
        x, y = request.x, request.y
        if request.factors:
            async with driving(self._session, request, "measuring the page") as driven:
                width, height = await script_results.measures(driven.page, "[innerWidth, innerHeight]", 2)
            x, y = x / request.factors[0] * width, y / request.factors[1] * height
        shared = request.model_dump(exclude={"x", "y", "factors"})
        reply: Reply[None] = await self._page_input.click(ClickRequest(x=x, y=y, **shared))
        return reply

    @operation(
        "POST /v1/browser/tools/close_tab",
        scope="browser",
        tool="browser_close_tab",
        aliases=("sandbox_browser_close_tab",),
        destructive=True,
        acts="cdp",
    )
    async def tool_close_tab(self) -> Reply[None]:
        """Close the tab in front."""
        reply: Reply[None] = await self._tabs.close_tab(await self._front())
        return reply

    @operation("POST /v1/browser/tools/close", scope="browser", tool="browser_close", destructive=True, acts="cdp")
    async def tool_close(self) -> Reply[None]:
        """Close every tab. The browser opens a blank one."""
        reply: Reply[None] = Reply(None)
        for _ in await self._session.tabs():
            reply = await self._tabs.close_tab(TabRef(index=0))
        return reply

    async def _front(self) -> TabRef:
        tabs = await self._session.tabs()
        return TabRef(index=next((index for index, tab in enumerate(tabs) if tab.active), 0))
