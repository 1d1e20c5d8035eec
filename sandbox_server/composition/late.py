"""A handle for what is made later than whoever needs it: asking too early raises, or waits with a bound."""

import asyncio
from concurrent.futures import Future

from sandbox_server.core.errors import Unavailable

WAIT_SECONDS = 30.0
"""How long `wait` waits: longer than a start takes on a slow machine."""


class NotMadeYetError(RuntimeError):
    """Something was asked for before it was made: a defect of the composition."""


class Late[T]:
    """Holds one value, set once, by any thread. `what` names it in errors."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._made: Future[T] = Future()

    def set(self, value: T) -> None:
        """Give the value. Raises RuntimeError the second time."""
        if self._made.done():
            raise RuntimeError(f"{self._what} was made already")
        self._made.set_result(value)

    def get(self) -> T:
        """The value. Raises NotMadeYetError before it was set."""
        if not self._made.done():
            raise NotMadeYetError(f"{self._what} is not made yet")
        return self._made.result()

    async def wait(self, seconds: float = WAIT_SECONDS) -> T:
        """The value, once it is set. Raises Unavailable when that takes too long."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(asyncio.wrap_future(self._made))  # what gives up must not cancel it for the others
        except TimeoutError:
            raise Unavailable(f"{self._what} is not there yet", retry_after=1.0) from None
