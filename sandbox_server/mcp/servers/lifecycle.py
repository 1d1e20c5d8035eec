"""The lifecycle of one upstream server: started on demand, stopped when idle, restarted with backoff after a failure."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Literal, Protocol

from mcp import Client

from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.message_limits import shorten
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import Admit, Connect, ServerListener, Wake, awake
from sandbox_server.mcp.servers.stdio_transport import StderrTail

START_SECONDS = 60.0
"""How long a server may take to start; `npx` and `uvx` download it first."""
STEADY_SECONDS = 30.0
"""A server that ran this long restarts without a pause."""
MAX_BACKOFF = 60.0
_DOUBLINGS = 16

type State = Literal["stopped", "starting", "running", "failed"]

_STDERR = "; it said: "
_log = logging.getLogger(__name__)


class LifecycleListener(ServerListener, Protocol):
    """Receives a server's messages and the changes of its state."""

    def must_stay(self) -> bool:
        """Whether the server must stay although no request runs."""
        ...

    async def on_start(self, client: Client) -> None:
        """Handle a start, before the first request."""
        ...

    def on_failure(self) -> None:
        """Handle an end that was not requested."""
        ...


class ServerLifecycle:
    """Starts, stops and restarts one server. Close it to end the server."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        connect: Connect,
        idle_seconds: float,
        wake: Wake,
        listener: LifecycleListener,
        admit: Admit = awake,
    ) -> None:
        self.reason = ""
        """Why the server failed; empty while it works."""
        self._name = name
        self._config = config
        self._connect = connect
        self._idle_seconds = idle_seconds
        self._wake = wake
        self._admit = admit
        self._listener = listener
        self._tasks = Tasks()
        self._opened: asyncio.Future[Client] | None = None
        self._done = asyncio.Event()
        self._uses = 0
        self._used_at = 0.0
        self._failures = 0
        self._not_before = 0.0

    @property
    def state(self) -> State:
        """The state, as `GET /v1/mcp/status` shows it."""
        if self._opened is not None:
            return "running" if self._opened.done() else "starting"
        return "failed" if self.reason else "stopped"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """The live connection, opened on demand. The server is not idle while the context is open.

        Raises Unavailable, and HeldByHuman while a person holds the shells.
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

    def mark_closed(self) -> None:
        """Treat the connection as closed."""
        self._done.set()

    async def close(self) -> None:
        """Stop the server."""
        self._done.set()
        await self._tasks.close()

    def _start(self) -> None:
        pause = self._not_before - time.monotonic()
        if pause > 0:
            raise Unavailable(f"the MCP server {self._name!r} does not work: {self.reason}", retry_after=pause, name=self._name)
        self._done = asyncio.Event()
        self._opened = asyncio.get_running_loop().create_future()
        self._tasks.start(self._run(self._opened, self._done), name=f"MCP server {self._name}")

    async def _run(self, opened: asyncio.Future[Client], done: asyncio.Event) -> None:
        """Open one connection and keep it until it ends."""
        stderr, started = StderrTail(), time.monotonic()
        reason = "it was stopped"
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(START_SECONDS):
                    client = await stack.enter_async_context(self._connect(self._config, done, stderr, self._listener))
                    await self._listener.on_start(client)
                self.reason = ""
                opened.set_result(client)
                if await self._ended_by_itself(done):
                    reason = _with("it ended", stderr)
        except TimeoutError:
            reason = _with(f"it did not answer within {START_SECONDS:g} s", stderr)
        except Exception as error:  # noqa: BLE001 - the top of a task: a server of others may fail in any way, and its status says how
            reason = _with(shorten(_innermost(error)), stderr)
        finally:
            self._on_connection_end(opened, reason, time.monotonic() - started)

    async def _ended_by_itself(self, done: asyncio.Event) -> bool:
        """Wait for the end of the connection: True if the server ended, False if it was idle for too long."""
        while True:
            left = self._used_at + self._idle_seconds - time.monotonic() if self._idle_seconds else None
            is_late = left is not None and left <= 0
            if is_late and not self._uses and not self._listener.must_stay():
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(self._idle_seconds if is_late else left):
                    await done.wait()
                    return True

    def _on_connection_end(self, opened: asyncio.Future[Client], reason: str, lived: float) -> None:
        failed = not opened.done() or reason != "it was stopped"
        self._opened = None
        self._failures = self._failures + 1 if failed and lived < STEADY_SECONDS else 0
        self._not_before = time.monotonic() + _backoff(self._failures)
        if not failed:
            return
        self.reason = reason
        self._listener.on_failure()
        _log.warning("the MCP server %s does not work: %s", self._name, reason.partition(_STDERR)[0])  # its standard error may hold a key
        if not opened.done():
            opened.set_exception(Unavailable(f"the MCP server {self._name!r} did not start: {reason}", name=self._name))
            opened.exception()  # marks it as retrieved, because nobody may wait


def _backoff(failures: int) -> float:
    """Seconds until the next start after so many failures."""
    return min(MAX_BACKOFF, 2.0 ** min(failures - 2, _DOUBLINGS)) if failures > 1 else 0.0


def _with(reason: str, stderr: StderrTail) -> str:
    because = stderr.violation or reason
    return f"{because}{_STDERR}{stderr}" if str(stderr) else because


def _innermost(error: BaseException) -> str:
    """The message of an error inside its exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error.message if isinstance(error, Failure) else str(error) or type(error).__name__
