"""Events that the browser's process pushes: focus of secret fields, and input of DevTools clients."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Literal

from sandbox_server.drivers.browser.browser_client import HEADERS
from sandbox_server.drivers.ipc.websocket_client import websocket

AGAIN_SECONDS = 0.5


async def follow_focus(socket: str, tell: Callable[[bool], None]) -> None:
    """Tell it, and every change, for ever; no browser is started for that. While nobody says, what was told last holds."""
    async for told in news(socket, "focus"):
        tell(bool(told["secret"]))


async def news(socket: str, of: Literal["focus", "acts"]) -> AsyncIterator[dict[str, Any]]:
    """Whatever is told of one thing, for ever."""
    from websockets.exceptions import WebSocketException

    while True:
        with suppress(OSError, WebSocketException, TimeoutError, ValueError):
            async with websocket(socket, f"ws://browser/browser/{of}", HEADERS) as connection:
                async for message in connection:
                    yield json.loads(message)
        await asyncio.sleep(AGAIN_SECONDS)
