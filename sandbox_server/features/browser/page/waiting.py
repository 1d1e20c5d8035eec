"""Waiting for events in a page."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from sandbox_server.core import Conflict, Model, Reply, operation
from sandbox_server.core.control import Reach
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.browser.dialogs import LOOKING
from sandbox_server.drivers.browser.session import BrowserSession, Driven
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Download, Downloads
from sandbox_server.drivers.devtools.globs import MAX_LENGTH, Glob
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.page.page_operation import READ_SECONDS, Seconds, Selector, Targeted, milliseconds, with_hint

if TYPE_CHECKING:
    from playwright.async_api import Page

RECENT_SECONDS = 30.0
"""A download that ended before the call counts for so many seconds after its start, if it was not returned yet."""

type Pattern = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]

_NEEDS = {"selector": "selector", "url": "url", "function": "expression", "response": "url_pattern", "request": "url_pattern"}
_STATES: dict[str, tuple[str, ...]] = {
    "selector": ("visible", "hidden", "attached", "detached"),
    "load": ("load", "domcontentloaded", "networkidle"),
}


class WaitRequest(Targeted):
    type: Literal["selector", "load", "url", "network_idle", "download", "function", "response", "request", "timeout"]
    """What to wait for; `timeout` only lets the time pass."""
    selector: Selector | None = None
    """For `selector`."""
    state: Literal["visible", "hidden", "attached", "detached", "load", "domcontentloaded", "networkidle"] | None = None
    """For `selector`: null is `visible`. For `load`: null is `load`."""
    url: Pattern | None = None
    """For `url`: a URL pattern; `*` matches anything but a slash and `**` anything."""
    save_path: str | None = None
    """For `download`: the path to copy it to, as the agent."""
    timeout: Seconds = READ_SECONDS
    """Seconds."""
    expression: Annotated[str, Field(min_length=1, max_length=1_000_000)] | None = None
    """For `function`: an expression, or a function, that becomes true."""
    polling: Annotated[float, Field(ge=10, le=60_000)] | None = None
    """For `function`: milliseconds between two checks; null checks on every frame."""
    url_pattern: Pattern | None = None
    """For `response` and `request`: a URL pattern as for `url`."""

    @property
    def acts(self) -> tuple[Reach, ...]:
        """What the operation acts on. A script may do anything in the page, and the page matches a selector."""
        return ("cdp",) if self.type == "function" else super().acts

    @model_validator(mode="after")
    def _complete(self) -> "WaitRequest":
        needed = _NEEDS.get(self.type)
        if needed and getattr(self, needed) is None:
            raise ValueError(f"type {self.type} needs {needed}")
        states = _STATES.get(self.type)
        if self.state is not None and states and self.state not in states:
            raise ValueError(f"state of type {self.type} is one of {', '.join(states)}")
        return self


class Waited(Model):
    """The event."""

    type: str
    url: str
    """Of the page, the response, the request or the download."""
    status: int | None = None
    """Of a response."""
    method: str | None = None
    """Of a request, or of a response's request."""
    path: str | None = None
    """Path of a download."""
    filename: str | None = None
    """The site's file name for a download."""


class Waiting:
    """Waits for events. A timeout is a 409 with the reason `timeout`."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession, devtools: Devtools, downloads: Downloads, files: Files) -> None:
        self._session = session
        self._devtools = devtools
        self._downloads = downloads
        self._files = files
        session.on_context(self._watch)
        downloads.on_begin(lambda begun: session.notice(f"A download began: {begun.suggested_filename}"))

    @operation("POST /v1/browser/page/wait", scope="browser", read_only=True)
    async def wait(self, request: WaitRequest) -> Reply[Waited]:
        """Wait for one thing: an element, a load, a URL, an idle network, a download, a script, a response, a request, or time."""
        doing = f"waiting for {request.type}"
        async with self._session.driving(doing, tab=request.tab, frame=request.frame, answer=LOOKING, timeout=request.timeout) as driven:
            waited = await self._wait(driven, request)
        return await with_hint(self._session, waited)

    async def _watch(self, *_: object) -> None:
        """Observe downloads from the first use of pages on."""
        await self._devtools.connection()

    async def _wait(self, driven: Driven, request: WaitRequest) -> Waited:
        match request.type:
            case "download":
                return await self._download(request)
            case "response" | "request":
                return await _traffic(driven.page, request)
            case "timeout":
                await asyncio.sleep(request.timeout)
            case _:
                await _on_page(driven, request)
        return Waited(type=request.type, url=driven.frame.url)

    async def _download(self, request: WaitRequest) -> Waited:
        download = self._unreported_download() or await self._downloads.next(request.timeout)
        download.told = True
        if download.path is None:
            raise Conflict(f"the download of {download.suggested_filename!r} failed: {download.error or download.state}", reason="network")
        if request.save_path:
            access = self._files.access("save")
            with await access.open(download.path) as file:
                await access.commit(file, request.save_path)
        path = request.save_path or download.path
        return Waited(type="download", url=download.url or "", path=path, filename=download.suggested_filename)

    def _unreported_download(self) -> Download | None:
        """Return a finished download that was not returned yet."""
        since = time.time() - RECENT_SECONDS
        ended = (each for each in self._downloads.all if each.state != "in_progress" and each.started > since)
        return next((each for each in ended if not each.told), None)


async def _on_page(driven: Driven, request: WaitRequest) -> None:
    timeout = milliseconds(request.timeout)
    state: Any = request.state
    match request.type:
        case "selector":
            await driven.frame.locator(request.selector or "").first.wait_for(state=state or "visible", timeout=timeout)
        case "load":
            await driven.frame.wait_for_load_state(state or "load", timeout=timeout)
        case "network_idle":
            await driven.frame.wait_for_load_state("networkidle", timeout=timeout)
        case "url":
            await driven.frame.wait_for_url(_url_test("url", request.url), timeout=timeout)
        case "function":
            await driven.frame.wait_for_function(request.expression or "", polling=request.polling or "raf", timeout=timeout)


async def _traffic(page: "Page", request: WaitRequest) -> Waited:
    timeout, fits = milliseconds(request.timeout), _url_test("url_pattern", request.url_pattern)
    if request.type == "request":
        async with page.expect_request(lambda request: fits(request.url), timeout=timeout) as caught:
            pass
        sent = await caught.value
        return Waited(type="request", url=sent.url, method=sent.method)
    async with page.expect_response(lambda response: fits(response.url), timeout=timeout) as answered:
        pass
    response = await answered.value
    return Waited(type="response", url=response.url, status=response.status, method=response.request.method)


def _url_test(field: str, pattern: str | None) -> Callable[[str], bool]:
    """Return a test of URLs.

    It does not use Playwright's patterns, which backtrack. A URL without a path means its root.
    """
    try:
        glob = Glob(pattern or "")
    except ValueError as error:
        raise InvalidFields([{"loc": (field,), "msg": str(error), "type": "pattern"}]) from None
    return lambda url: glob.covers(url) or (url.count("/") == 3 and glob.covers(url.removesuffix("/")))
