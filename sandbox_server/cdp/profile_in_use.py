"""The profile that the browser runs on: kept for the next process that owns it, and changed."""

from contextlib import suppress
from functools import partial

from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.core.errors import Failure
from sandbox_server.drivers.browser.chromium import Chromium
from sandbox_server.drivers.profiles.names import is_name
from sandbox_server.drivers.storage.json_file import JsonFile


class ProfileInUse:
    """The name in `kept`; `first` while nobody has used another one in this container."""

    def __init__(self, kept: JsonFile, first: str) -> None:
        self._kept = kept
        self._first = first

    def read(self) -> str:
        """Return the name."""
        with suppress(OSError, ValueError):
            found = self._kept.read()
            if isinstance(found, str) and is_name(found):
                return found
        return self._first

    async def use(self, name: str, chromium: Chromium, browser: BrowserSupervisor) -> None:
        """Start the browser anew on another profile, with no tab but its home page.

        Raises as `ProfileStore.check` does, and Unavailable. The browser then runs on the profile that it had.
        """
        before = chromium.profile
        if name == before:
            await browser.link()
            return
        await chromium.check_profile(name)
        try:
            await browser.change_profile(partial(_put, chromium, name))
        except Failure:
            await browser.change_profile(partial(_put, chromium, before))
            raise
        self._kept.write(name)


def _put(chromium: Chromium, name: str) -> None:
    chromium.profile = name
