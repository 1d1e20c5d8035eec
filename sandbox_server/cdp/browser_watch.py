"""A browser's first answer, its pulse while it runs, and its end."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.cpu_time import work_of
from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.drivers.spawn.process import Process

STARTING = 150.0
"""Seconds that a new browser may take to answer while it uses processor time. A busy machine takes minutes."""
STANDING = 10.0
"""Seconds without an answer and without processor time after which a start has failed."""
PULSE = 10.0
"""Seconds between two checks whether the browser answers."""
HUNG = 30.0
"""Seconds without an answer after which the browser is killed."""
SILENCE = 0.5
"""Seconds without a message from a browser that has been asked something, after which its box is resumed."""

type Thaw = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


async def first_word(link: BrowserLink, process: Process) -> None:
    """Wait until a new browser answers, for as long as it uses processor time; raises Unavailable."""
    until, used = time.monotonic() + STARTING, None
    while True:
        try:
            await link.command("Browser.getVersion", timeout=STANDING)
            return
        except Unavailable:
            before, used = used, await asyncio.to_thread(work_of, process.pid)
            if link.over or process.exit is not None or used == before or time.monotonic() > until:
                raise


async def feel_pulse(link: BrowserLink, process: Process) -> None:
    """Kill a browser that no longer answers. One that nobody asks anything may be suspended."""
    felt = link.sent
    try:
        while True:
            await asyncio.sleep(PULSE)
            if link.sent != felt:
                await link.command("Browser.getVersion", timeout=HUNG)
                felt = link.sent
    except Failure as failure:
        log.warning("the browser hangs: %s", failure)
        await process.kill(signal.SIGKILL)


async def stay_awake(link: BrowserLink, thaw: Thaw) -> None:
    """Resume the box for clients that wait for a silent browser."""
    while True:
        await link.asked.wait()
        link.asked.clear()
        while link.unanswered:
            heard = link.heard
            await asyncio.sleep(SILENCE)
            if link.unanswered and link.heard == heard:
                await thaw()


async def bury(process: Process, patience: float) -> None:
    """Wait until a browser without its pipe quits, for `patience` seconds, and kill it with its helper processes if it does not."""
    try:
        async with asyncio.timeout(patience):
            await process.wait()
    except TimeoutError:
        await process.kill(signal.SIGKILL)
        await process.wait()
