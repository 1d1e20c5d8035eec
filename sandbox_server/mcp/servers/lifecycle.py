"""The life of one server behind the hub: started when it is needed, stopped when it is idle, started again when it died."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Literal, Protocol

from mcp import Client

from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.message_limits import in_short
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import Admit, Connect, ServerListener, Wake, awake
from sandbox_server.mcp.servers.stdio_transport import StderrTail

START_SECONDS = 60.0
"""How long a server may take until it answers; `npx` and `uvx` fetch it first."""
STEADY_SECONDS = 30.0
"""A server that lived this long was not failing: it is started again at once."""
MAX_PAUSE = 60.0
_DOUBLINGS = 16

type State = Literal["stopped", "starting", "running", "failed"]

_SAID = "; it said: "
_log = logging.getLogger(__name__)


class LifecycleListener(ServerListener, Protocol):
    """Whoever needs the server, and hears it."""

    def needs_it(self) -> bool:
        """Whether it is needed although nothing is asked of it."""
        ...

    async def came(self, client: Client) -> None:
        """It was started, and nothing was asked of it yet."""
        ...

    def failed(self) -> None:
        """It ended without having been told to."""
        ...


class ServerLifecycle:
    """One server, by its name. Close it when it is no longer wanted."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        connect: Connect,
        idle_seconds: float,
        wake: Wake,
        user: LifecycleListener,
        admit: Admit = awake,
    ) -> None:
        self.reason = ""
        """Why it does not work, where it does not."""
        self._name = name
        self._config = config
        self._connect = connect
        self._idle_seconds = idle_seconds
        self._wake = wake
        self._admit = admit
        self._user = user
        self._tasks = Tasks()
        self._opened: asyncio.Future[Client] | None = None
        self._done = asyncio.Event()
        self._uses = 0
        self._used_at = 0.0
        self._failures = 0
        self._not_before = 0.0

    @property
    def state(self) -> State:
        """What it does."""
        if self._opened is not None:
            return "running" if self._opened.done() else "starting"
        return "failed" if self.reason else "stopped"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """The live connection, opened where there is none; while it is held the server is not idle.

        Raises Unavailable, and HeldByHuman where nothing may be asked of it now.
        """
        self._uses += 1
        try:
            await self._admit()
            if self._config.kind == "stdio":
                await self._wake()
            if self._opened is None:
                self._start()
            assert self._opened
            yield await asyncio.shield(self._opened)
        finally:
            self._uses -= 1
            self._used_at = time.monotonic()

    def hang_up(self) -> None:
        """Take it that the connection has ended."""
        self._done.set()

    async def close(self) -> None:
        """End it."""
        self._done.set()
        await self._tasks.close()

    def _start(self) -> None:
        pause = self._not_before - time.monotonic()
        if pause > 0:
            raise Unavailable(f"the MCP server {self._name!r} does not work: {self.reason}", retry_after=pause, name=self._name)
        self._done = asyncio.Event()
        self._opened = asyncio.get_running_loop().create_future()
        self._tasks.start(self._live(self._opened, self._done), name=f"MCP server {self._name}")

    async def _live(self, opened: asyncio.Future[Client], done: asyncio.Event) -> None:
        """Keep one connection, from its opening to its end."""
        said, started = StderrTail(), time.monotonic()
        reason = "it was stopped"
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(START_SECONDS):
                    client = await stack.enter_async_context(self._connect(self._config, done, said, self._user))
                    await self._user.came(client)
                self.reason = ""
                opened.set_result(client)
                if await self._outlived(done):
                    reason = _with("it ended", said)
        except TimeoutError:
            reason = _with(f"it did not answer within {START_SECONDS:g} s", said)
        except Exception as error:
            reason = _with(in_short(_innermost(error)), said)
        finally:
            self._ended(opened, reason, time.monotonic() - started)

    async def _outlived(self, done: asyncio.Event) -> bool:
        """Wait for the end of the connection; False where it is idle for too long."""
        while True:
            left = self._used_at + self._idle_seconds - time.monotonic() if self._idle_seconds else None
            is_late = left is not None and left <= 0
            if is_late and not self._uses and not self._user.needs_it():
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(self._idle_seconds if is_late else left):
                    await done.wait()
                    return True

    def _ended(self, opened: asyncio.Future[Client], reason: str, lived: float) -> None:
        failed = not opened.done() or reason != "it was stopped"
        self._opened = None
        self._failures = self._failures + 1 if failed and lived < STEADY_SECONDS else 0
        self._not_before = time.monotonic() + _pause(self._failures)
        if not failed:
            return
        self.reason = reason
        self._user.failed()
        _log.warning("the MCP server %s does not work: %s", self._name, reason.partition(_SAID)[0])  # what it said itself may hold a key
        if not opened.done():
            opened.set_exception(Unavailable(f"the MCP server {self._name!r} did not start: {reason}", name=self._name))
            opened.exception()  # whoever waits gets it too; nobody may


def _pause(failures: int) -> float:
    """Seconds until it is tried again after so many failures."""
    return min(MAX_PAUSE, 2.0 ** min(failures - 2, _DOUBLINGS)) if failures > 1 else 0.0


def _with(reason: str, said: StderrTail) -> str:
    because = said.broken or reason
    return f"{because}{_SAID}{said}" if str(said) else because


def _innermost(error: BaseException) -> str:
    """What went wrong, without the groups that tasks put around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error.message if isinstance(error, Failure) else str(error) or type(error).__name__
