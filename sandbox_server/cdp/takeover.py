"""Browser-wide rules while a person has the pages, so that nothing that others prepared acts on them.

Service workers are bypassed, emulation is off, extensions are stopped, and open browser tools are closed.
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
"""Seconds to wait for open pages. A page that hangs gets the rules later, and does not delay the takeover."""

log = logging.getLogger(__name__)


class TakeoverRules:
    """Applies the rules to the running browser. `emulation` is what others have set for every page."""

    def __init__(self, emulation: Emulation, extensions: Extensions) -> None:
        self._emulation = emulation
        self._extensions = extensions
        self._bypass = Emulation(PATIENCE, anew=True)
        self._link: BrowserLink | None = None
        self._raised = False
        self._turn = asyncio.Lock()

    async def apply(self, link: BrowserLink, holding: Holding) -> None:
        """Apply the rules to a new browser, which has none yet. A lease that changes while it opens its tabs is kept, too.

        Raises as `keep` does.
        """
        async with self._turn:
            self._link, self._raised = link, False
            await self._follow(link, holding)

    async def keep(self, holding: Holding) -> None:
        """Apply or lift the rules for the current lease. Raises Unavailable if an extension cannot be stopped."""
        async with self._turn:
            if self._link and not self._link.over:
                await self._follow(self._link, holding)

    async def _follow(self, link: BrowserLink, holding: Holding) -> None:
        """Have the rules of a browser be those of a lease."""
        wanted = is_taken_over(holding)
        if wanted != self._raised:
            await (self._raise(link) if wanted else self._lower(link))
            self._raised = wanted

    async def close(self) -> None:
        """Disconnect from the browser."""
        await self._bypass.close()

    async def _raise(self, link: BrowserLink) -> None:
        await self._emulation.pause()
        for each in (self._close_tools(link), self._bypass.set(link, _BYPASS)):
            await _tried(each)
        try:
            await self._extensions.stop(link)
        except Failure:
            link.close("an extension could not be stopped")  # its successor stops them first
            raise

    async def _lower(self, link: BrowserLink) -> None:
        for each in (self._bypass.set(link, None), self._emulation.resume(link), self._extensions.start(link)):
            await _tried(each)

    async def _close_tools(self, link: BrowserLink) -> None:
        """Close the browser's own tools: a script of whoever opened them may still run there."""
        for info in (await link.command("Target.getTargets", filter=[{}]))["targetInfos"]:
            if sealed(info) and info["type"] != "tab":
                await _tried(link.command("Target.closeTarget", targetId=info["targetId"]))


def is_taken_over(holding: Holding) -> bool:
    """Whether a person has the pages."""
    return holding.private is not None or (holding.state == "human" and bool(holding.reach & ON_SCREEN))


async def _tried(what: Awaitable[object]) -> None:
    """Try one step and log a failure: a page that hangs must not prevent the rest of the takeover."""
    try:
        await what
    except Failure as failure:
        log.warning("%s", failure)
