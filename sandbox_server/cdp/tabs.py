"""The open tabs, followed by DevTools events, to restore them after a crash."""

import asyncio
import secrets
from contextlib import suppress
from typing import Any

from sandbox_server.drivers.storage.json_file import JsonFile

MAX_TABS = 50
"""Limit of restored tabs. A page that opens thousands may be what crashed the browser."""
_UNSHOWN = ("devtools://", "chrome://policy", "http://sandbox-proxy.invalid", "chrome-extension://", "chrome-untrusted://")
"""Parts of the browser's own interface. While their window closes, Chromium lists them as pages."""
_LOST_WITH_THE_PROCESS = ("blob:", "filesystem:")


class RestorableTabs:
    """The pages of the browser's default context, in the order in which they appeared."""

    def __init__(self, path: str) -> None:
        self._file = JsonFile(path)
        self._pages: dict[str, str] = {}
        self._number, self._life = 0, secrets.token_hex(4)
        self._changed = asyncio.Event()
        self.context: str | None = None
        """The default context. Pages of other contexts, such as a private window, are not restored."""

    @property
    def urls(self) -> list[str]:
        """The URLs to restore. A page that cannot be loaded again becomes a blank one."""
        shown = list(self._pages.values())[-MAX_TABS:]
        return ["about:blank" if url.startswith(_LOST_WITH_THE_PROCESS) else url for url in shown]

    @property
    def pages(self) -> dict[str, str]:
        """The URL of each page by target id."""
        return dict(self._pages)

    @property
    def state(self) -> str:
        """A token that changes whenever the tabs change."""
        return f"{self._life}-{self._number}"

    async def until_not(self, state: str, seconds: float) -> None:
        """Wait until the state differs from `state`, for at most `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.state == state:
                    await self._changed.wait()

    @property
    def empty(self) -> bool:
        """Whether there is no tab."""
        return not self._pages

    def take(self, method: str, params: dict[str, Any]) -> bool:
        """Follow an event of the Target domain. Return True if a tab was opened, closed or navigated."""
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
        """Forget all tabs of a browser that is gone."""
        self._pages.clear()
        self._tell()

    def _tell(self) -> None:
        self._number += 1
        self._changed.set()
        self._changed.clear()

    def save(self, urls: list[str]) -> None:
        """Save the URLs to restore, in case this process dies with the browser."""
        self._file.write(urls)

    def saved(self) -> list[str]:
        """Return the saved URLs; none if the file is missing or unreadable."""
        try:
            return [str(url) for url in self._file.read() or ()]
        except (OSError, TypeError, ValueError):
            return []

    def _is_tab(self, info: dict[str, Any]) -> bool:
        own = info["url"].startswith(_UNSHOWN) or _is_bar(info["url"])
        return info["type"] == "page" and info.get("browserContextId") == self.context and not own


def _is_bar(url: str) -> bool:
    """Whether a URL belongs to the browser's own interface: `chrome://<name>.top-chrome/`."""
    host, slash, _ = url.removeprefix("chrome://").partition("/")
    return url.startswith("chrome://") and host.endswith(".top-chrome") and bool(slash)
