"""Reading a page: screenshots, HTML, text, Markdown and script results."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server import patterns
from sandbox_server.core import Blob, Model, Reply, TooLarge, operation
from sandbox_server.core.control import Reach
from sandbox_server.drivers.browser import script_results
from sandbox_server.drivers.browser.article import Readable
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.scripts import script
from sandbox_server.drivers.browser.session import BrowserSession, Driven
from sandbox_server.features.browser.page.input import OnElement, element_of
from sandbox_server.features.browser.page.page_operation import (
    ACT_SECONDS,
    READ_SECONDS,
    Acting,
    Index,
    Seconds,
    Selector,
    Targeted,
    driving,
    found_in,
    milliseconds,
    shown_frames,
    with_hint,
)

MAX_PIXELS = 100_000_000
"""Limit of pixels of one screenshot. Chromium crashes on much larger ones."""
MAX_MATCHES = 100
AROUND = 60
"""Characters of context on each side of a match."""

MEDIA_TYPES = ("image/png", "image/jpeg")
_FORMATS: dict[str, Literal["png", "jpeg"]] = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg"}
_SIZE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight, devicePixelRatio]"
MAX_TAG = 16384
"""Limit of characters of a tag. A longer one is not a password field."""
MAX_BROKEN = 100
"""Limit of malformed tags that are checked. After that, a page's markup is returned without any values."""
_INPUT = patterns.compile(r'<input\b(?:[^>"]|"[^"]*")*>')
_PASSWORD = patterns.compile(r'(?i)\stype="password"')
_FILLED = patterns.compile(r'\svalue="[^"]*"')
_HIDDEN = ' value="(hidden)"'
_HTML = "(element, outer) => outer ? element.outerHTML : element.innerHTML"


class PageScreenshotRequest(Targeted):
    full_page: bool = False
    """The whole page instead of its visible part."""
    format: Literal["png", "jpg", "jpeg"] = "png"
    quality: Annotated[int, Field(ge=0, le=100)] | None = None
    """Of a JPEG; null is 80."""
    selector: Selector | None = None
    """Only the first element that matches."""
    index: Index | None = None
    """Only the element of this index of `get_elements`."""

    @property
    def acts(self) -> tuple[Reach, ...]:
        """What it acts on: the page is scrolled to an element, and laid out anew for the whole page."""
        return ("cdp",) if self.full_page or self.index is not None else super().acts


class HtmlRequest(Targeted):
    outer: bool = False
    """Include the element's own tag. For the document, leave out its doctype."""
    selector: Selector | None = None
    """The first element that matches; null is the document."""


class EvaluateRequest(Acting):
    expression: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    """An expression, a function to call, or statements with `return`. Promises are awaited."""
    timeout: Seconds = READ_SECONDS
    """Seconds to wait for the result. The script itself is not stopped."""


class FindTextRequest(Targeted):
    keyword: Annotated[str, Field(min_length=1, max_length=1000)]
    """Text to find, ignoring case, within one text node."""


class TextMatch(Model):
    """A visible occurrence of a text. Positions are in pixels of the window of its page or frame."""

    text: str
    """The text with up to 60 characters on each side."""
    frame: str | None
    """URL of its frame; null in the page itself."""
    x: float
    y: float
    width: float
    height: float
    in_viewport: bool
    """Whether any of it is visible without scrolling."""


class _Found(Model):
    """The result of `drivers/browser/scripts/find_text.js`."""

    found: Annotated[list[TextMatch], Field(max_length=MAX_MATCHES)]
    total: Annotated[int, Field(ge=0)]


class Markdown(Model):
    """The main content of a page."""

    title: str
    content: str
    """Markdown."""
    url: str
    readable: bool
    """Whether a main content was found; otherwise `content` is the whole page."""
    byline: str | None
    """The author."""
    excerpt: str | None
    site_name: str | None
    language: str | None


def without_passwords(html: str) -> str:
    """Return HTML that a browser serialized, without the values of password fields."""
    pieces, done, start, sought, broken = [], 0, -1, 0, set[int]()
    for found in _PASSWORD.finditer(html):
        start, sought = max(start, html.rfind("<input", sought, found.start())), found.start()
        if start < max(done, found.start() - MAX_TAG) or start in broken:
            continue
        tag = _INPUT.match(html[start : start + MAX_TAG])
        if tag and start + tag.end() > found.start():
            pieces += [html[done:start], _FILLED.sub(_HIDDEN, tag[0])]
            done = start + tag.end()
        else:
            broken.add(start)
        if len(broken) > MAX_BROKEN:
            return "".join(pieces) + _FILLED.sub(_HIDDEN, html[done:])
    return "".join(pieces) + html[done:]


class Reading:
    """Reads pages. Only `evaluate` can change anything."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession, elements: ElementIndex, readable: Readable) -> None:
        self._session = session
        self._elements = elements
        self._readable = readable

    @operation(
        "GET /v1/browser/page/screenshot",
        operation_id="screenshot",
        scope="browser",
        media_type=MEDIA_TYPES,
        tool="browser_vision_screen_capture",
    )
    async def page_screenshot(self, request: PageScreenshotRequest) -> Blob:
        """Take a screenshot of the page, without the browser's bars. Pages larger than 100 megapixels are refused."""
        form = _FORMATS[request.format]
        async with driving(self._session, request, "taking the picture") as driven:
            return Blob(await self._picture(driven, request, form), f"image/{form}")

    @operation("GET /v1/browser/page/html", scope="browser")
    async def get_html(self, request: HtmlRequest) -> Reply[str]:
        """Read the current HTML of the page, without the values of password fields."""
        async with driving(self._session, request, "reading the markup") as driven:
            if request.selector is None and not request.outer:
                html = await driven.frame.content()
            else:
                html = await (await found_in(driven, request.selector or "html")).evaluate(_HTML, request.outer)
        return await with_hint(self._session, without_passwords(html))

    @operation("GET /v1/browser/page/text", scope="browser", tool="browser_get_text", page_text=True, aliases=("sandbox_browser_get_text",))
    async def get_text(self, request: Targeted) -> Reply[str]:
        """Read all visible text: the page's, then that of its frames."""
        async with driving(self._session, request, "reading the text") as driven:
            texts = [await script_results.answer(frame, script("text"), None, str) for frame in shown_frames(driven)]
        return await with_hint(self._session, "\n".join(text for text in texts if text))

    @operation("GET /v1/browser/page/markdown", scope="browser")
    async def get_markdown(self, request: Targeted) -> Reply[Markdown]:
        """Read the page's main content as Markdown.

        Readability extracts it. If it finds none, the whole page is returned, and `readable` is false.
        """
        async with driving(self._session, request, "reading the page") as driven:
            article = await self._readable.read(driven.frame)
        return await with_hint(self._session, Markdown(**asdict(article)))

    @operation("POST /v1/browser/page/evaluate", scope="browser", acts="cdp")
    async def evaluate(self, request: EvaluateRequest) -> Reply[Any]:
        """Run JavaScript in the page and return its result as JSON."""
        async with driving(self._session, request, "the script", direct=request.frame is None) as driven:
            result = await self._session.evaluate(driven, request.expression, request.timeout)
        return await with_hint(self._session, result)

    @operation("POST /v1/browser/page/find_text", scope="browser", read_only=True)
    async def find_text(self, request: FindTextRequest) -> Reply[list[TextMatch]]:
        """Find visible occurrences of a text in the page and its frames; at most 100."""
        matches: list[TextMatch] = []
        total = 0
        async with driving(self._session, request, "finding the text") as driven:
            for frame in shown_frames(driven):
                wanted = {"keyword": request.keyword, "limit": MAX_MATCHES - len(matches), "around": AROUND}
                found = await script_results.answer(frame, script("find_text"), wanted, _Found)
                total += found.total
                inside = frame.url if frame.parent_frame else None
                matches += [match.model_copy(update={"frame": inside}) for match in found.found]
        reply = await with_hint(self._session, matches)
        more = f"{total - len(matches)} more places were found." if total > len(matches) else None
        return Reply(matches, hint=" ".join(filter(None, [reply.hint, more])) or None)

    async def _picture(self, driven: Driven, request: PageScreenshotRequest, form: Literal["png", "jpeg"]) -> bytes:
        quality = (80 if request.quality is None else request.quality) if form == "jpeg" else None
        timeout = milliseconds(READ_SECONDS)
        if request.selector is not None:
            await found_in(driven, request.selector)
        if request.selector is not None or request.index is not None:
            one = OnElement(selector=request.selector, index=request.index)
            element = await element_of(self._elements, driven, one)
            return await element.screenshot(type=form, quality=quality, timeout=milliseconds(ACT_SECONDS))
        if request.full_page:
            await _expect_drawable(driven)
        return await driven.page.screenshot(type=form, quality=quality, full_page=request.full_page, timeout=timeout)


async def _expect_drawable(driven: Driven) -> None:
    width, height, scale = await script_results.measures(driven.page, _SIZE, 3)
    if width * height * scale**2 > MAX_PIXELS:
        raise TooLarge(f"the page is {width}x{height} pixels large; pictures have at most {MAX_PIXELS}", width=width, height=height)
