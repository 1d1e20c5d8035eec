"""Keeps a connection to a chat service open, by which its users' answers come."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sandbox_server.core import Failure

PAUSES = (1.0, 60.0)
"""Seconds before another attempt after a failure: the first pause and the longest."""

type Serve = Callable[[Callable[[], None]], Awaitable[None]]
"""Serves one connection. It calls its argument once it is connected, returns where the service asks for a new one, and raises Failure."""

_log = logging.getLogger(__name__)


async def keep_connected(service: str, serve: Serve) -> None:
    """Serve one connection after the other."""
    pause = PAUSES[0]

    def connected() -> None:
        nonlocal pause
        pause = PAUSES[0]

    while True:
        try:
            await serve(connected)
        except Failure as failure:
            _log.warning("answers from %s wait %g s: %s", service, pause, failure.message)
        await asyncio.sleep(pause)
        pause = min(2 * pause, PAUSES[1])
