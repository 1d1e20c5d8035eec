"""One server behind the hub: started when it is needed, stopped when it is idle, started again when it died."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Literal

from mcp import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolListChangedNotification,
)

from sandbox_server.core.errors import Conflict, Failure, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.hub.configuration import ServerConfig
from sandbox_server.hub.connection import Connect, Wake, awake
from sandbox_server.hub.streams import Said

START_SECONDS = 60.0
"""How long a server may take until it answers; `npx` and `uvx` fetch it first."""
ANSWER_SECONDS = 30.0
"""For a list."""
STEADY_SECONDS = 30.0
"""A server that lived this long was not failing: it is started again at once."""
MAX_PAUSE = 60.0
MAX_PAGES = 100

type State = Literal["stopped", "starting", "running", "failed"]

_SAID = "; it said: "
_log = logging.getLogger(__name__)


class Upstream:
    """One server, by its name. Close it when it is no longer wanted.

    Its tools are asked for once, and again when it says that they have changed or when it had to be started anew.
    """

    def __init__(self, name: str, config: ServerConfig, connect: Connect, idle_seconds: float, wake: Wake = awake) -> None:
        self.name = name
        self.config = config
        self.reason = ""
        """Why it does not work, where it does not."""
        self._connect = connect
        self._idle_seconds = idle_seconds
        self._wake = wake
        self._tasks = Tasks()
        self._opened: asyncio.Future[Client] | None = None
        self._done = asyncio.Event()
        self._uses = 0
        self._used_at = 0.0
        self._failures = 0
        self._not_before = 0.0
        self._tools: list[Tool] | None = None
        self._listing = asyncio.Lock()

    @property
    def state(self) -> State:
        """What it does."""
        if self._opened is not None:
            return "running" if self._opened.done() else "starting"
        return "failed" if self.reason else "stopped"

    @property
    def known_tools(self) -> list[Tool] | None:
        """Its tools as they were last told."""
        return self._tools

    def remember(self, tools: list[Tool]) -> None:
        """Take it that it has these tools, until it is asked."""
        self._tools = tools

    async def tools(self) -> list[Tool]:
        """Its tools, of those that are let through. Raises Unavailable."""
        async with self._listing:
            if self._tools is None:
                self._tools = await self._answer("tools", lambda client, cursor: client.list_tools(cursor=cursor))
            return self._tools

    async def resources(self) -> list[Resource]:
        """Its resources, none where it has none to give. Raises Unavailable."""
        return await self._optional("resources", lambda client, cursor: client.list_resources(cursor=cursor))

    async def templates(self) -> list[ResourceTemplate]:
        """Its resource templates. Raises Unavailable."""
        return await self._optional("resource_templates", lambda client, cursor: client.list_resource_templates(cursor=cursor))

    async def read(self, uri: str) -> ReadResourceResult:
        """Read one of its resources. Raises MCPError as it says, and Unavailable."""
        async with self._client() as client:
            return await client.read_resource(uri)

    async def call(self, tool: str, arguments: dict[str, Any], progress: ProgressFnT | None) -> CallToolResult:
        """Call a tool; cancelling this cancels the call there.

        Raises Unavailable where nothing was done, Conflict where the server went away meanwhile, and MCPError as it says.
        """
        async with self._client() as client:
            request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
            try:
                return await client.session.send_request(
                    request, CallToolResult, request_read_timeout_seconds=self.config.timeout, progress_callback=progress
                )
            except MCPError as error:
                if error.code != CONNECTION_CLOSED:
                    raise
                self._done.set()
                raise Conflict(f"the MCP server {self.name!r} went away while {tool} ran: {error.message}", name=self.name) from error

    async def close(self) -> None:
        """End it."""
        self._done.set()
        await self._tasks.close()

    async def _optional(self, kind: str, ask: Callable[[Client, str | None], Awaitable[Any]]) -> list[Any]:
        async with self._client() as client:
            if client.server_capabilities.resources is None:
                return []
        return await self._answer(kind, ask)

    async def _answer(self, kind: str, ask: Callable[[Client, str | None], Awaitable[Any]]) -> list[Any]:
        """Every page of a list."""
        found: list[Any] = []
        cursor: str | None = None
        try:
            async with self._client() as client, asyncio.timeout(ANSWER_SECONDS):
                for _ in range(MAX_PAGES):
                    page = await ask(client, cursor)
                    found += getattr(page, kind)
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        except (MCPError, TimeoutError, ValueError) as error:
            raise Unavailable(f"the MCP server {self.name!r} does not list its {kind}: {error}", name=self.name) from error
        return found

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        """The live connection, opened where there is none; while it is held the server is not idle."""
        self._uses += 1
        try:
            if self.config.kind == "stdio":
                await self._wake()
            if self._opened is None:
                self._start()
            assert self._opened
            yield await asyncio.shield(self._opened)
        finally:
            self._uses -= 1
            self._used_at = time.monotonic()

    def _start(self) -> None:
        pause = self._not_before - time.monotonic()
        if pause > 0:
            raise Unavailable(f"the MCP server {self.name!r} does not work: {self.reason}", retry_after=pause, name=self.name)
        self._done = asyncio.Event()
        self._opened = asyncio.get_running_loop().create_future()
        self._tasks.start(self._live(self._opened, self._done), name=f"MCP server {self.name}")

    async def _live(self, opened: asyncio.Future[Client], done: asyncio.Event) -> None:
        """Keep one connection, from its opening to its end."""
        said, started = Said(), time.monotonic()
        reason = "it was stopped"
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(START_SECONDS):
                    client = await stack.enter_async_context(self._connect(self.config, done, said, self._on_notice))
                self.reason = ""
                opened.set_result(client)
                if await self._outlived(done):
                    reason = _with("it ended", said)
        except TimeoutError:
            reason = _with(f"it did not answer within {START_SECONDS:g} s", said)
        except Exception as error:
            reason = _with(_innermost(error), said)
        finally:
            self._ended(opened, reason, time.monotonic() - started)

    async def _outlived(self, done: asyncio.Event) -> bool:
        """Wait for the end of the connection; False where it is idle for too long."""
        while True:
            left = self._used_at + self._idle_seconds - time.monotonic() if self._idle_seconds else None
            if left is not None and left <= 0 and not self._uses:
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(self._idle_seconds if left is not None and left <= 0 else left):
                    await done.wait()
                    return True

    def _ended(self, opened: asyncio.Future[Client], reason: str, lived: float) -> None:
        failed = not opened.done() or reason != "it was stopped"
        self._opened = None
        self._failures = self._failures + 1 if failed and lived < STEADY_SECONDS else 0
        self._not_before = time.monotonic() + min(MAX_PAUSE, 2.0 ** (self._failures - 2) if self._failures > 1 else 0.0)
        if not failed:
            return
        self.reason, self._tools = reason, None
        _log.warning("the MCP server %s does not work: %s", self.name, reason.partition(_SAID)[0])  # what it said itself may hold a key
        if not opened.done():
            opened.set_exception(Unavailable(f"the MCP server {self.name!r} did not start: {reason}", name=self.name))
            opened.exception()  # whoever waits gets it too; nobody may

    def _on_notice(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._tools = None


def _with(reason: str, said: Said) -> str:
    return f"{reason}{_SAID}{said}" if str(said) else reason


def _innermost(error: BaseException) -> str:
    """What went wrong, without the groups that tasks put around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error.message if isinstance(error, Failure) else str(error) or type(error).__name__
