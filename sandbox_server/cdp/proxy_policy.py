"""Makes a running browser use another proxy, or none, at once.

Chromium notices changed policy files by itself, but only after some seconds. The reload button of `chrome://policy`
works at once; the page is opened hidden. A URL that only the proxy answers then shows which setting is in force.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink
from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.messages import Object, encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.drivers.proxy.configuration import ANSWERED

PAGE = "chrome://policy"
LOOK_SECONDS = 0.02
_READY = "location.protocol === 'chrome:' && document.readyState === 'complete' && typeof chrome.send === 'function'"
_READ = "chrome.send('reloadPolicies')"


async def take_proxy(link: BrowserLink, *, proxied: bool) -> None:
    """Reload the policies, and return when the browser uses the proxy as they say; raises Unavailable."""
    opened = await link.command("Target.createTarget", url=PAGE, hidden=True)
    try:
        page = _Page(link, *await link.attach(OWNER, opened["targetId"]))
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                await page.press(_READY, _READ)
                while await page.reaches(ANSWERED) != proxied:  # noqa: ASYNC110 - nothing tells when it does
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            page.detach()
    except TimeoutError:
        raise Unavailable("the browser does not use the new proxy setting yet; try again in a few seconds", retry_after=10.0) from None
    finally:
        with suppress(Failure):  # it has gone with the browser
            await link.command("Target.closeTarget", targetId=opened["targetId"])


class _Page:
    """One hidden page, and a session on it."""

    def __init__(self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox) -> None:
        self._link = link
        self._peer = peer
        self._outbox = outbox
        self._last = 0

    async def press(self, ready: str, action: str) -> None:
        """Run `action` once `ready` holds on the page."""
        params = {"expression": f"({ready}) && ({action}, true)", "returnByValue": True}
        while True:
            answer = await self._ask("Runtime.evaluate", params)
            if answer.get("result", {}).get("result", {}).get("value"):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def reaches(self, url: str) -> bool:
        """Whether a URL can be loaded."""
        answer = await self._ask("Page.navigate", {"url": url})
        return not answer.get("result", {}).get("errorText")

    def detach(self) -> None:
        """Disconnect from the page."""
        self._link.detach(self._peer)

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Object:
        self._last += 1
        self._link.send(self._peer, encode({"id": self._last, "method": method, "params": dict(params)}))
        while (message := await self._outbox.get()) is not None:
            answer: Object = orjson.loads(message)
            if answer.get("id") == self._last:
                return answer
        raise Unavailable("the browser ended", retry_after=1.0)
