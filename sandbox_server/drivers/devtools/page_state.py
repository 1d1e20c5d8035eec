"""How far pages are scrolled and what is filled into their forms: read for a checkpoint, and put back into a page that was loaded anew.

The script runs in a world of its own, which the page can neither see nor change. Passwords and what is named as a secret are left out.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.browser.browser_client import BrowserClient, BrowserTab
from sandbox_server.drivers.devtools.connection import DevtoolsConnection, DevtoolsRefused, Object, connected
from sandbox_server.drivers.forks.fork_state import MAX_TABS, MAX_TITLE, MAX_URL, KeptField, KeptTab
from sandbox_server.timeouts import scaled

PAGE_SECONDS = scaled(1.5)
"""Seconds for one page to say its state; one that is stuck in a script says none."""
LOAD_SECONDS = scaled(20.0)
"""Seconds for one page to load before its state is put back."""
LOOK_SECONDS = 0.2
WORLD = "tandem-page-state"
BLANK = "about:blank"


class PageStates:
    """Reads and writes the state of the browser's tabs. `masked` takes secrets out of a text."""

    def __init__(self, owner: BrowserClient, masked: Callable[[str], str]) -> None:
        self._owner = owner
        self._masked = masked

    async def read(self) -> tuple[KeptTab, ...]:
        """Return every tab, in order; none where no browser runs. Raises Unavailable."""
        _, pages = await self._owner.pages("")
        if not pages:
            return ()
        tabs = [tab for tab in await self._owner.tabs() if tab.page in pages][:MAX_TABS]
        async with connected(self._owner.socket, _ignore) as connection:
            return tuple(await asyncio.gather(*(self._read(connection, tab) for tab in tabs)))

    async def _read(self, connection: DevtoolsConnection, tab: BrowserTab) -> KeptTab:
        kept = KeptTab(url=self._address(tab.url), title=self._masked(_clean(tab.title))[:MAX_TITLE], front=tab.active)
        try:
            async with asyncio.timeout(PAGE_SECONDS), _attached(connection, tab.page) as session:
                told = await _evaluate(connection, session, f"({_script()}).read()")
            fields = tuple(KeptField(str(each["path"]), str(each["kind"]), str(each["value"])) for each in told["fields"])
            safe = tuple(each for each in fields if self._masked(each.value) == each.value and "\0" not in each.value)
            return replace(kept, x=float(told["x"]), y=float(told["y"]), fields=safe)
        except (DevtoolsRefused, Failure, TimeoutError, KeyError, TypeError, ValueError):
            return kept

    def _address(self, url: str) -> str:
        """Return an address that can be opened again: without its query and fragment where those hold a secret."""
        for candidate in (url, url.partition("#")[0], url.partition("#")[0].partition("?")[0]):
            if len(candidate) <= MAX_URL and "\0" not in candidate and self._masked(candidate) == candidate:
                return candidate
        return BLANK

    async def write(self, kept: tuple[KeptTab, ...]) -> None:
        """Put the state back into tabs that have the same addresses, in their order, and the one in front there. Raises Unavailable."""
        waiting = list(await self._owner.tabs())
        front: str | None = None
        async with connected(self._owner.socket, _ignore) as connection:
            for tab in kept:
                found = next((each for each in waiting if _same(each.url, tab.url)), None)
                if found is None:
                    continue
                waiting.remove(found)
                front = found.page if tab.front else front
                await self._write(connection, found.page, tab)
        if front:
            await self._owner.activate(front)

    async def _write(self, connection: DevtoolsConnection, page: str, tab: KeptTab) -> None:
        if not (tab.fields or tab.x or tab.y):
            return
        state = json.dumps({"url": tab.url, "x": tab.x, "y": tab.y, "fields": [asdict(each) for each in tab.fields]})
        try:
            async with asyncio.timeout(LOAD_SECONDS), _attached(connection, page) as session:
                await _loaded(connection, session)
                await _evaluate(connection, session, f"({_script()}).write({state})")
        except (DevtoolsRefused, Failure, TimeoutError, KeyError):
            return


def _same(one: str, other: str) -> bool:
    return one.partition("#")[0].removesuffix("/") == other.partition("#")[0].removesuffix("/")


def _clean(text: str) -> str:
    return text.replace("\0", "")


def _ignore(_: str | None, __: str, ___: Object) -> None:
    """Nothing is followed."""


@cache
def _script() -> str:
    lines = Path(__file__).with_name("page_state.js").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//"))


@asynccontextmanager
async def _attached(connection: DevtoolsConnection, page: str) -> AsyncIterator[str]:
    session = str((await connection.command("Target.attachToTarget", {"targetId": page, "flatten": True}))["sessionId"])
    try:
        yield session
    finally:
        connection.post("Target.detachFromTarget", {"sessionId": session})


async def _loaded(connection: DevtoolsConnection, session: str) -> None:
    """Return once a page has loaded: its world goes with each document, and so is asked anew."""
    loaded = False
    while not loaded:
        loaded = (await _evaluate(connection, session, "document.readyState")) == "complete"
        await asyncio.sleep(0 if loaded else LOOK_SECONDS)


async def _evaluate(connection: DevtoolsConnection, session: str, expression: str) -> Any:
    """Return the value of an expression in a world of its own of the page's main frame."""
    frame = (await connection.command("Page.getFrameTree", {}, session))["frameTree"]["frame"]["id"]
    world = await connection.command("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD}, session)
    asked = {"expression": expression, "contextId": world["executionContextId"], "returnByValue": True}
    return (await connection.command("Runtime.evaluate", asked, session))["result"].get("value")
