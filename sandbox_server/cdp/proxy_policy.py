"""Having a browser that runs go through a proxy, or through none, at once.

It notices by itself that its policies have changed, but waits until they have stayed the same for some seconds. Its page about policies
has a button that does not wait; the page is opened where nobody sees it. From there an address is asked for that only the proxy answers.
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
    """Have the policies read, and return once the browser does what they say of the proxy; raises Unavailable."""
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
        raise Unavailable("the browser does not take the proxy yet; it will within seconds", retry_after=10.0) from None
    finally:
        with suppress(Failure):  # it has gone with the browser
            await link.command("Target.closeTarget", targetId=opened["targetId"])


class _Page:
    """One page, and our session on it."""

    def __init__(self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox) -> None:
        self._link = link
        self._peer = peer
        self._outbox = outbox
        self._last = 0

    async def press(self, ready: str, action: str) -> None:
        """Run an action once the page is ready for it."""
        params = {"expression": f"({ready}) && ({action}, true)", "returnByValue": True}
        while True:
            answer = await self._ask("Runtime.evaluate", params)
            if answer.get("result", {}).get("result", {}).get("value"):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def reaches(self, url: str) -> bool:
        """Whether an address can be loaded."""
        answer = await self._ask("Page.navigate", {"url": url})
        return not answer.get("result", {}).get("errorText")

    def detach(self) -> None:
        """Let go of it."""
        self._link.detach(self._peer)

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Object:
        self._last += 1
        self._link.send(self._peer, encode({"id": self._last, "method": method, "params": dict(params)}))
        while (message := await self._outbox.get()) is not None:
            answer: Object = orjson.loads(message)
            if answer.get("id") == self._last:
                return answer
        raise Unavailable("the browser ended", retry_after=1.0)
