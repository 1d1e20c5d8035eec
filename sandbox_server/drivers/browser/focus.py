"""Whether a field for a secret has the focus in some page, as the process that owns the browser tells it."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.drivers.browser.owner import HEADERS

AGAIN_SECONDS = 0.5


async def follow_focus(socket: str, tell: Callable[[bool], None]) -> None:
    """Tell it, and every change, for ever; no browser is started for that. While nobody says, what was told last holds."""
    from websockets.asyncio.client import unix_connect
    from websockets.exceptions import WebSocketException

    while True:
        with suppress(OSError, WebSocketException, TimeoutError, ValueError):
            async with unix_connect(socket, "ws://browser/browser/focus", additional_headers=HEADERS, compression=None) as connection:
                async for message in connection:
                    tell(bool(json.loads(message)["secret"]))
        await asyncio.sleep(AGAIN_SECONDS)
