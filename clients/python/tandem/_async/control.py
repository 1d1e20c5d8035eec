"""Who drives."""

import asyncio
import time
from typing import TYPE_CHECKING

from tandem.api import AsyncApi

if TYPE_CHECKING:
    from tandem.api.control import ControlState

LOOK_SECONDS = 0.5


class AsyncControl:
    """Who drives, and how to get to drive again."""

    def __init__(self, api: AsyncApi) -> None:
        self._control = api.control

    async def state(self) -> "ControlState":
        """`state`, `holder`, `epoch`, `private` and more."""
        return await self._control.control_state()

    async def request(self) -> "ControlState":
        """Ask the person who has control to give it back."""
        return await self._control.request_control()

    async def wait(self, timeout: float | None = None) -> "ControlState":
        """Wait until no person has control or is private; the state then. Raises TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            state = await self.state()
            if state.holder is None and state.private is None:
                return state
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{state.holder or state.private} still has control")
            await asyncio.sleep(LOOK_SECONDS)
