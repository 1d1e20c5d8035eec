"""The tabs that a person sees, as Chromium tells of them: what to open again after it died."""

import asyncio
import secrets
from contextlib import suppress
from typing import Any

from sandbox_server.drivers.storage.json_file import JsonFile

MAX_TABS = 50
"""Tabs opened again; a page that opened thousands is what killed the browser."""
_UNSHOWN = ("devtools://", "chrome://policy", "http://sandbox-proxy.invalid", "chrome-extension://", "chrome-untrusted://")
"""Parts of the browser's own bars; while their window closes Chromium calls them pages."""
_LOST_WITH_THE_PROCESS = ("blob:", "filesystem:")


class RestorableTabs:
    """The pages of the browser's default context, in the order in which they appeared."""

    def __init__(self, path: str) -> None:
        self._file = JsonFile(path)
        self._pages: dict[str, str] = {}
        self._number, self._life = 0, secrets.token_hex(4)
        self._changed = asyncio.Event()
        self.context: str | None = None
        """The default context; pages of others, such as a client's private one, are not a person's tabs."""

    @property
    def urls(self) -> list[str]:
        """What to open again; a page that cannot be had again is a blank one."""
        shown = list(self._pages.values())[-MAX_TABS:]
        return ["about:blank" if url.startswith(_LOST_WITH_THE_PROCESS) else url for url in shown]

    @property
    def pages(self) -> dict[str, str]:
        """The address of each page, by its target id."""
        return dict(self._pages)

    @property
    def state(self) -> str:
        """A word that is another whenever the tabs are."""
        return f"{self._life}-{self._number}"

    async def until_not(self, state: str, seconds: float) -> None:
        """Wait until the tabs are not as they were in that state, or so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.state == state:
                    await self._changed.wait()

    @property
    def empty(self) -> bool:
        """Whether there is no tab."""
        return not self._pages

    def take(self, method: str, params: dict[str, Any]) -> bool:
        """Follow an event of the Target domain; true when a tab was opened, closed or moved elsewhere."""
        taken = self._take(method, params)
        if taken:
            self._tell()
        return taken

    def _take(self, method: str, params: dict[str, Any]) -> bool:
        if method == "Target.targetDestroyed":
            return self._pages.pop(params["targetId"], None) is not None
        if method not in ("Target.targetCreated", "Target.targetInfoChanged"):
            return False
        info = params["targetInfo"]
        if not self._is_tab(info) or self._pages.get(info["targetId"]) == info["url"]:
            return False
        self._pages[info["targetId"]] = info["url"]
        return True

    def forget(self) -> None:
        """The browser is gone, and its tabs with it."""
        self._pages.clear()
        self._tell()

    def _tell(self) -> None:
        self._number += 1
        self._changed.set()
        self._changed.clear()

    def save(self, urls: list[str]) -> None:
        """Write down what to open again, should this process die with the browser."""
        self._file.write(urls)

    def saved(self) -> list[str]:
        """What was written down last; nothing where nothing readable was."""
        try:
            return [str(url) for url in self._file.read() or ()]
        except (OSError, TypeError, ValueError):
            return []

    def _is_tab(self, info: dict[str, Any]) -> bool:
        own = info["url"].startswith(_UNSHOWN) or _is_bar(info["url"])
        return info["type"] == "page" and info.get("browserContextId") == self.context and not own


def _is_bar(url: str) -> bool:
    """Whether an address is of one of the browser's own bars: `chrome://<name>.top-chrome/`."""
    host, slash, _ = url.removeprefix("chrome://").partition("/")
    return url.startswith("chrome://") and host.endswith(".top-chrome") and bool(slash)
