"""What holds in the browser as a whole while a person has the pages: nothing that others prepared acts on them.

No service worker answers for the network, no device is emulated, no extension runs, and the browser's own tools that were open are closed.
"""

import asyncio
import logging
from collections.abc import Awaitable

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.command_rules import sealed
from sandbox_server.cdp.emulation import Commands, Emulation
from sandbox_server.cdp.extensions import Extensions
from sandbox_server.core.control import ON_SCREEN, Holding
from sandbox_server.core.errors import Failure

_BYPASS: Commands = {
    "Network.enable": {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0},
    "Network.setBypassServiceWorker": {"bypass": True},
}

PATIENCE = 2.0
"""Seconds for the pages that are open: one that hangs is told when it goes on, and holds up nobody who takes control."""

log = logging.getLogger(__name__)


class TakeoverRules:
    """Keeps the running browser to who has the pages. `emulation` is what others have shown on every page."""

    def __init__(self, emulation: Emulation, extensions: Extensions) -> None:
        self._emulation = emulation
        self._extensions = extensions
        self._bypass = Emulation(PATIENCE, anew=True)
        self._raised = False
        self._turn = asyncio.Lock()

    async def keep(self, link: BrowserLink | None, holding: Holding, *, fresh: bool = False) -> None:
        """Raise it, or take it down; a `fresh` browser has none yet. Raises Unavailable where an extension cannot be stopped."""
        wanted = is_taken_over(holding)
        async with self._turn:
            if fresh:
                self._raised = False
            if link is None or wanted == self._raised:
                return
            await (self._raise(link) if wanted else self._lower(link))
            self._raised = wanted

    async def close(self) -> None:
        """Let go of the browser."""
        await self._bypass.close()

    async def _raise(self, link: BrowserLink) -> None:
        await self._emulation.pause()
        for each in (self._close_tools(link), self._bypass.set(link, _BYPASS)):
            await _tried(each)
        try:
            await self._extensions.stop(link)
        except Failure:
            link.close("an extension could not be stopped")  # the next browser serves nobody before its own are
            raise

    async def _lower(self, link: BrowserLink) -> None:
        for each in (self._bypass.set(link, None), self._emulation.resume(link), self._extensions.start(link)):
            await _tried(each)

    async def _close_tools(self, link: BrowserLink) -> None:
        """Close the browser's own tools: whoever opened them may have left something running there."""
        for info in (await link.command("Target.getTargets", filter=[{}]))["targetInfos"]:
            if sealed(info) and info["type"] != "tab":
                await _tried(link.command("Target.closeTarget", targetId=info["targetId"]))


def is_taken_over(holding: Holding) -> bool:
    """Whether a person has the pages."""
    return holding.private is not None or (holding.state == "human" and bool(holding.reach & ON_SCREEN))


async def _tried(what: Awaitable[object]) -> None:
    """Do one thing, whatever becomes of it: a page that hangs keeps no person from taking the others."""
    try:
        await what
    except Failure as failure:
        log.warning("%s", failure)
