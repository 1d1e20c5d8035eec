"""One control client of tmux: commands go out in order, and each gets its answer, or the failure that there is none."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from signal import SIGKILL
from typing import Any, cast

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.shells.tmux_control import ControlError, ControlParser, ControlReply, PaneOutput, TmuxNotification
from sandbox_server.drivers.spawn.process import Process
from sandbox_server.timeouts import scaled

ANSWER_SECONDS = scaled(10.0)
"""How long tmux may take to answer; more means that it hangs."""
CLOSE_SECONDS = 1.0
"""How long a control client may take to end."""
RETRY_AFTER = 1.0

_log = logging.getLogger(__name__)


class TmuxGone(Unavailable):
    """The connection ended before there was an answer."""


def _perhaps_unheard[F: asyncio.Future[Any]](answer: F) -> F:
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())
    return answer


class TmuxConnection(asyncio.Protocol):
    """One control client. `hear` is told of output and notices, `lost` of the end."""

    def __init__(self, process: Process, hear: Callable[[PaneOutput | TmuxNotification], None], lost: Callable[[], None]) -> None:
        self.closed = False
        self.answered = False
        """Whether anything that was asked was answered."""
        self._process = process
        self._hear = hear
        self._lost = lost
        self._parser = ControlParser()
        self._waiting: deque[tuple[asyncio.Future[ControlReply], Callable[[ControlReply], None]]] = deque()
        self._transport: asyncio.WriteTransport | None = None

    def ask(self, command: str, answered: Callable[[ControlReply], None]) -> asyncio.Future[ControlReply]:
        """Run a command; `answered` is called in order with output and notices. The answer may come never: see `in_time`."""
        future: asyncio.Future[ControlReply] = _perhaps_unheard(asyncio.get_running_loop().create_future())
        if self.closed or self._transport is None:
            future.set_exception(TmuxGone("tmux is gone", retry_after=RETRY_AFTER))
            return future
        self._waiting.append((future, answered))
        self._transport.write(command.encode("utf-8", "surrogateescape") + b"\n")
        return future

    def close(self) -> None:
        """Hang up once everything was said."""
        if self._transport:
            self._transport.close()

    def forsake(self) -> None:
        """Close at once, and have nobody hear of it."""
        self.closed = True
        self._hear, self._lost = lambda _: None, lambda: None
        if self._transport:
            self._transport.abort()

    async def finish(self) -> None:
        """Close when everything was said and heard, and wait until the client is gone: tmux keeps one to which it cannot write the rest."""
        if self._transport and not self._transport.is_closing():
            self._transport.write_eof()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._process.wait()
            self.close()
        except TimeoutError:
            await self.abandon()

    async def abandon(self) -> None:
        """End a client that hangs: tmux would hold the terminals up for it."""
        self.close()
        await self._process.kill(SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._process.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the way to tmux."""
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's is none by name

    def data_received(self, data: bytes) -> None:
        """Take what tmux says."""
        try:
            events = self._parser.feed(data)
            for event in events:
                if isinstance(event, ControlReply):
                    self._answer(event)
                else:
                    self._hear(event)
        except (ControlError, ValueError, IndexError):  # what is in tmux's place may answer anything, to anything
            _log.exception("tmux is not understood; connecting again")
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Take the end: nothing that was asked is answered any more."""
        self.closed = True
        for future, _ in self._waiting:
            if not future.done():
                future.set_exception(TmuxGone("tmux is gone", retry_after=RETRY_AFTER))
        self._waiting.clear()
        self._lost()

    def _answer(self, reply: ControlReply) -> None:
        if not self._waiting:
            raise ControlError("a reply to no question")
        self.answered = True
        future, answered = self._waiting.popleft()
        answered(reply)
        if not future.done():
            future.set_result(reply)


def together(answers: Sequence[Awaitable[ControlReply]]) -> Awaitable[list[ControlReply]]:
    """Wait for several answers, or perhaps for none of them."""
    return _perhaps_unheard(asyncio.gather(*answers))


async def in_time[T](connection: TmuxConnection, answer: Awaitable[T]) -> T:
    """Wait for an answer on a connection, which is given up where that takes too long. Raises Unavailable."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await answer
    except TimeoutError:
        await connection.abandon()
        raise Unavailable(f"tmux did not answer within {ANSWER_SECONDS:g} s", retry_after=RETRY_AFTER) from None


@dataclass(frozen=True, slots=True)
class TmuxReply:
    """Commands that were sent; who awaits it knows that they were answered, or is told with Unavailable that they were not in time."""

    connection: TmuxConnection
    answers: Awaitable[object]

    def __await__(self) -> Generator[Any, None, object]:
        return in_time(self.connection, self.answers).__await__()
