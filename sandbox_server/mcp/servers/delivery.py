"""Delivery of an upstream server's log messages and progress reports to clients, within a limit."""

from collections.abc import Coroutine
from typing import Any

MAX_UNDELIVERED = 64
"""Messages that may wait for their clients; more are dropped."""


class BoundedDelivery:
    """Delivers messages of one server. A client that does not read its stream cannot make them pile up."""

    def __init__(self) -> None:
        self._undelivered = 0

    async def deliver(self, message: Coroutine[Any, Any, None]) -> None:
        """Send a message, or drop it if too many wait already."""
        if self._undelivered >= MAX_UNDELIVERED:
            message.close()
            return
        self._undelivered += 1
        try:
            await message
        finally:
            self._undelivered -= 1
