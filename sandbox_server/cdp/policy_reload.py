"""Makes a running browser take changed policies at once: another proxy, another authority.

Chromium notices changed policy files by itself, but only after some seconds. The reload button of `chrome://policy`
works at once; the page is opened hidden. A URL that only the proxy answers then shows which proxy is in force. Which
authority is, the page is told with the policies.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
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
OWN_PAGES = (f"{PAGE}/", ANSWERED)
"""What this process opens itself, whatever rules there are for pages. Nothing of anybody else's is there."""
LOOK_SECONDS = 0.02
_READY = (
    "location.protocol === 'chrome:' && document.readyState === 'complete' && typeof chrome.send === 'function'"
    " && typeof globalThis.cr?.webUIListenerCallback === 'function'"
)
_FOLLOW = """(() => {
    const told = cr.webUIListenerCallback
    cr.webUIListenerCallback = (event, ...news) => {
        if (event === 'policies-updated') globalThis.policiesTold = JSON.stringify(news)
        told(event, ...news)
    }
})()"""
"""Keeps what Chromium tells the page of the policies, whenever it has read them."""
_RELOAD = "chrome.send('reloadPolicies')"
_TRUSTS = "globalThis.policiesTold?.includes({}) ?? false"
_TRUSTS_NONE = "!(globalThis.policiesTold?.includes('\"CACertificates\":{') ?? true)"


async def take_proxy(link: BrowserLink, *, proxied: bool) -> None:
    """Reload the policies, and return when the browser uses the proxy as they say; raises Unavailable."""
    async with _reloaded(link, "does not use the new proxy setting") as page:
        while await page.reaches(ANSWERED) != proxied:  # noqa: ASYNC110 - nothing tells when it does
            await asyncio.sleep(LOOK_SECONDS)


async def take_authority(link: BrowserLink, certificate: str) -> None:
    """Reload the policies, and return when the browser trusts a certificate (DER in Base64), or none; raises Unavailable."""
    trusted = _TRUSTS.format(orjson.dumps(certificate).decode()) if certificate else _TRUSTS_NONE
    async with _reloaded(link, "does not trust the sandbox's authority") as page:
        await page.wait_for(trusted)


@asynccontextmanager
async def _reloaded(link: BrowserLink, otherwise: str) -> AsyncIterator["_Page"]:
    """Open the page and press its button. The body has until the timeout, which raises Unavailable, to see the effect."""
    opened = await link.command("Target.createTarget", url=PAGE, hidden=True)
    try:
        page = _Page(link, *await link.attach(OWNER, opened["targetId"]))
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                await page.wait_for(f"({_READY}) && ({_FOLLOW}, {_RELOAD}, true)")
                yield page
        finally:
            page.detach()
    except TimeoutError:
        raise Unavailable(f"the browser {otherwise} yet; try again in a few seconds", retry_after=10.0) from None
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

    async def wait_for(self, expression: str) -> None:
        """Evaluate an expression on the page until it is true."""
        params = {"expression": expression, "returnByValue": True}
        while True:
            answer = await self._ask("Runtime.evaluate", params)
            if answer.get("result", {}).get("result", {}).get("value") is True:
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
