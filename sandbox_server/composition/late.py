"""A handle for a value that is made later than its users: access too early raises, or waits with a limit."""

import asyncio
from concurrent.futures import Future

from sandbox_server.core.errors import Unavailable
from sandbox_server.timeouts import scaled

WAIT_SECONDS = scaled(30.0)
"""Seconds that `wait` waits: longer than a start takes on a slow machine."""


class NotMadeYetError(RuntimeError):
    """A value was used before it was made: a bug of the composition."""


class Late[T]:
    """Holds one value, set once, by any thread. `what` names it in errors."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._made: Future[T] = Future()

    def set(self, value: T) -> None:
        """Set the value. Raises RuntimeError the second time."""
        if self._made.done():
            raise RuntimeError(f"{self._what} was made already")
        self._made.set_result(value)

    def get(self) -> T:
        """Return the value. Raises NotMadeYetError before it was set."""
        if not self._made.done():
            raise NotMadeYetError(f"{self._what} is not made yet")
        return self._made.result()

    async def wait(self, seconds: float = WAIT_SECONDS) -> T:
        """Return the value, once it is set. Raises Unavailable if that takes too long."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(asyncio.wrap_future(self._made))  # shared with other waiters
        except TimeoutError:
            raise Unavailable(f"{self._what} is not there yet", retry_after=1.0) from None
