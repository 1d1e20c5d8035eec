"""Extensions: stopped while a person has the pages, and started again afterwards.

Scripts of Chromium's own page `chrome://extensions` do this. The page is opened hidden from everyone, as `policy_reload`
does with the policy page.
"""

import asyncio
import logging
from typing import Any

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.tab_strip import InternalClient
from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.timeouts import scaled

PAGE = "chrome://extensions"
READY_SECONDS = scaled(10.0)
LOOK_SECONDS = 0.02
_READY = "location.protocol === 'chrome:' && document.readyState === 'complete' && !!chrome.management && !!chrome.management.setEnabled"
_STOP = """(async () => {
  const running = (await chrome.management.getAll()).filter((one) => one.enabled && one.type !== "theme").map((one) => one.id);
  for (const id of running) await chrome.management.setEnabled(id, false);
  const left = (await chrome.management.getAll()).filter((one) => one.enabled && one.type !== "theme");
  return { stopped: running, left: left.map((one) => one.id) };
})()"""
_START = "(async () => { for (const id of %s) await chrome.management.setEnabled(id, true).catch(() => 0); })()"

log = logging.getLogger(__name__)


class Extensions:
    """The extensions of the running browser. Unless `allowed`, there are none and nothing is done."""

    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed
        self._stopped: set[str] = set()
        self._turn = asyncio.Lock()

    async def stop(self, link: BrowserLink) -> None:
        """Stop all running extensions; raises Unavailable if one does not stop."""
        if not self._allowed:
            return
        async with self._turn:
            found: dict[str, list[str]] = await _run(link, _STOP)
            self._stopped |= set(found["stopped"])
        if found["left"]:
            raise Unavailable("a browser extension cannot be stopped", retry_after=1.0, extensions=found["left"])

    async def start(self, link: BrowserLink) -> None:
        """Start the stopped extensions again. One that fails to start stays stopped."""
        async with self._turn:
            if not self._stopped:
                return
            try:
                await _run(link, _START % sorted(self._stopped))
                self._stopped.clear()
            except Failure as failure:
                log.warning("extensions stay stopped: %s", failure)


async def _run(link: BrowserLink, script: str) -> Any:
    """Run a script in the extensions page; raises Unavailable."""
    insider = await InternalClient.of(link)
    try:
        opened = await insider.command("Target.createTarget", url=PAGE, hidden=True)
        try:
            session = (await insider.command("Target.attachToTarget", targetId=opened["targetId"], flatten=True))["sessionId"]
            await _ready(insider, session)
            answer = await insider.command("Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True)
        finally:
            await insider.command("Target.closeTarget", targetId=opened["targetId"])
    finally:
        insider.leave()
    if "exceptionDetails" in answer:
        raise Unavailable(f"browser extensions cannot be stopped: {answer['exceptionDetails'].get('text')}", retry_after=1.0)
    return answer["result"].get("value")


async def _ready(insider: InternalClient, session: str) -> None:
    try:
        async with asyncio.timeout(READY_SECONDS):
            while not await _is_ready(insider, session):  # noqa: ASYNC110 - nothing tells when it is
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise Unavailable("chrome://extensions does not open", retry_after=1.0) from None


async def _is_ready(insider: InternalClient, session: str) -> bool:
    answer = await insider.command("Runtime.evaluate", session, expression=_READY, returnByValue=True)
    return bool(answer["result"].get("value"))
