"""The browser process: its addresses, and its restart."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from sandbox_server.core import Call, Failure, Model, NullCounts, operation
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.x11.desktop import Desktop

MAX_PATTERNS = 1000
_EXCEPTION = re.compile(
    r"(?!(?:file|filesystem|view-source):)(?:[a-z][a-z0-9+-]*:(?://)?(?:\*|[^\s*]*)|\.?[a-z0-9\[][^\s*]*)", re.IGNORECASE
)
"""Pattern for URLs that are not files. Chromium reads a leading slash or tilde as a file, and `*` as everything."""


class BrowserViewport(Model):
    width: int
    """In pixels."""
    height: int
    """In pixels."""


class BrowserWhereabouts(Model):
    user_agent: str
    cdp_url: str
    """DevTools WebSocket URL, on the host of your request. It needs the same credentials."""
    vnc_url: str
    """Page on which a person sees and uses the desktop."""
    cdp_ui_url: str | None = None
    """Null: there is no such page. Use `vnc_url`."""
    viewport: BrowserViewport
    """Size of the screen."""
    page_viewport: BrowserViewport | None = None
    """Size of the page in front, without the browser's own bars; null if it does not answer."""


class RestartRequest(Model):
    """The kind of restart, and new policies. A missing policy stays as it is."""

    mode: Literal["soft", "hard"] = "hard"
    """`soft` reconnects the page operations; `hard` restarts the browser with the same tabs."""
    url_blocklist: Annotated[list[str], Field(max_length=MAX_PATTERNS)] | None = None
    """URL patterns that the browser refuses. This and the following need `hard`."""
    url_allowlist: Annotated[list[str], Field(max_length=MAX_PATTERNS)] | None = None
    """Exceptions to the block list, each with a host or a scheme. They cannot allow file URLs."""
    allow_file_selection_dialogs: Annotated[bool | None, NullCounts()] = None
    """Whether pages can open file dialogs; null restores the browser's default."""
    locale: Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9,;=.*-]+$")] | None = None
    """Accept-Language, most preferred first."""

    @field_validator("url_allowlist")
    @classmethod
    def _opens_no_files(cls, patterns: list[str] | None) -> list[str] | None:
        for pattern in patterns or ():
            if not _EXCEPTION.fullmatch(pattern):
                raise ValueError(f"{pattern[:200]!r} must name a host, or a scheme that is not file")
        return patterns


class BrowserRunning:
    """Describes and restarts the browser. `reattach` resets what other operations hold of the browser."""

    tag = "browser"

    def __init__(self, owner: BrowserClient, desktop: Desktop, reattach: Callable[[], Awaitable[None]] | None = None) -> None:
        self._owner = owner
        self._desktop = desktop
        self._reattach = reattach

    @operation(
        "GET /v1/browser/info",
        scope="browser",
        tool="sandbox_get_browser_info",
        aliases=("sandbox_browser_get_info", "browser_get_info"),
        shows=False,
    )
    async def get_info(self, call: Call) -> BrowserWhereabouts:
        """Return the browser's addresses for DevTools and for people, and its size."""
        version = await self._owner.version()
        width, height = await self._desktop.screen.size()
        base = call.base_url or "http://localhost:8080"
        return BrowserWhereabouts(
            user_agent=str(version["User-Agent"]),
            cdp_url=f"{base.replace('http', 'ws', 1)}/devtools/browser/{version['webSocketDebuggerUrl'].rpartition('/')[2]}",
            vnc_url=f"{base}/vnc/index.html?autoconnect=true",
            viewport=BrowserViewport(width=width, height=height),
            page_viewport=await self._page_viewport(),
        )

    async def _page_viewport(self) -> BrowserViewport | None:
        try:
            width, height = await self._owner.page_size()
        except Failure:
            return None
        return BrowserViewport(width=width, height=height)

    @operation("POST /v1/browser/restart", scope="browser", acts="cdp")
    async def restart(self, request: RestartRequest) -> None:
        """Restart the browser with its tabs, and with new policies if given.

        Answers once it can be used. DevTools clients are disconnected, and find the next browser at the same address.
        """
        if self._reattach:
            await self._reattach()
        if request.mode == "hard":
            given = request.model_dump(include=request.model_fields_set - {"mode"})
            await self._owner.restart(given)
