"""All upstream servers: kept in step with the registry and queried concurrently, so that none delays the others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool

from sandbox_server import patterns
from sandbox_server.core.errors import Failure, NotFound
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.notifications.changes import EVERY_LIST, ChangeNotifications
from sandbox_server.mcp.servers.connection import Admit, Connect, Wake, awake
from sandbox_server.mcp.servers.registry import RegisteredServer, ServerRegistry
from sandbox_server.mcp.servers.tool_approval import ApproveTool, approved
from sandbox_server.mcp.servers.upstream import UpstreamServer
from sandbox_server.mcp.tool_filter import ToolFilter

WATCH_SECONDS = 2.0
"""How soon a connected client is notified of a changed file."""
LIST_SECONDS = 10.0
"""How long a list waits for servers that are starting; later results are in the next list."""


@dataclass(frozen=True, slots=True)
class UpstreamTool:
    """A tool of an upstream server, under its prefixed name."""

    name: str
    tool: Tool
    """The server's own description, under its own name."""
    upstream: UpstreamServer
    aliases: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        return self.upstream.name

    @property
    def tags(self) -> frozenset[str]:
        return frozenset({self.upstream.name, *self.upstream.config.tags})

    @property
    def scope(self) -> str:
        return self.upstream.config.scope

    @property
    def read_only(self) -> bool:
        return bool(self.tool.annotations and self.tool.annotations.read_only_hint)


class UpstreamServers:
    """The servers of the registry, each started on demand."""

    def __init__(
        self,
        registry: ServerRegistry,
        connect: Connect,
        *,
        idle_seconds: float,
        recorded_tools: Mapping[str, list[Tool]] | None = None,
        wake: Wake = awake,
        admit: Admit = awake,
        approve: ApproveTool = approved,
        changes: ChangeNotifications | None = None,
    ) -> None:
        self._registry = registry
        self._connect = connect
        self._idle_seconds = idle_seconds
        self._recorded_tools = recorded_tools or {}
        self._wake = wake
        self._admit = admit
        self._approve = approve
        self.changes = changes or ChangeNotifications()
        """Notifies clients when servers or their lists change."""
        self._running: dict[str, UpstreamServer] = {}
        self._seen = False
        self._tasks = Tasks()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["UpstreamServers"]:
        """Watch the registry while the context is open; every server ends with it."""
        self._tasks.start(self._watch(), name="watch the MCP server registry")
        try:
            yield self
        finally:
            await self.changes.close()
            await asyncio.gather(*(upstream.close() for upstream in self._running.values()))
            await self._tasks.close()

    def all(self) -> dict[str, UpstreamServer]:
        """Every registered server, after removed and changed ones were told to end."""
        registered = self._registry.servers()
        removed = [name for name, upstream in self._running.items() if name not in registered or registered[name].config != upstream.config]
        for name in removed:
            self._tasks.start(self._running.pop(name).close(), name=f"end of MCP server {name}")
        added = [name for name in registered if name not in self._running]
        for name in added:
            self._running[name] = self._make_upstream(name, registered[name])
        if self._seen and (removed or added):
            self.changes.publish(*EVERY_LIST)
        self._seen = True
        return {name: self._running[name] for name in registered}

    def unsubscribe_later(self, upstream: UpstreamServer, uri: str) -> None:
        """Unsubscribe in the background, because a cancelled request cannot wait."""
        self._tasks.start(upstream.unsubscribe(uri), name=f"unsubscribe from a resource of {upstream.name}")

    async def _watch(self) -> None:
        """Check the registry's files while a client could be notified; each request checks them too."""
        while True:
            await self.changes.has_audience.wait()
            self.all()
            await asyncio.sleep(WATCH_SECONDS)

    def _make_upstream(self, name: str, server: RegisteredServer) -> UpstreamServer:
        admit = awake if server.origin == "built-in" else self._admit  # its actions pass the gateway, which checks the lease itself
        upstream = UpstreamServer(
            name, server.config, self._connect, self._idle_seconds, self._wake, self.changes.publish, admit, self._approve
        )
        if server.origin == "built-in" and name in self._recorded_tools:
            upstream.preset_tools(self._recorded_tools[name])
        return upstream

    def matching(self, tool_filter: ToolFilter) -> list[UpstreamServer]:
        """The servers that a filter may show tools of."""
        return [upstream for upstream in self.all().values() if _matches(upstream, tool_filter)]

    def get(self, name: str, tool_filter: ToolFilter) -> UpstreamServer:
        """A server that the caller may use. Raises NotFound."""
        upstream = self.all().get(name)
        if upstream is None or not tool_filter.may_use(upstream.config.scope):
            raise NotFound(f"no MCP server {name!r}", name=name)
        return upstream

    async def listed(self, tool_filter: ToolFilter) -> list[UpstreamTool]:
        """The tools of all servers that a filter shows."""
        asked = self.matching(tool_filter)
        found = await self.each(asked, UpstreamServer.tools)
        for upstream in asked:
            if upstream.known_tools is None:
                upstream.mark_incomplete()
        return [
            upstream_tool
            for upstream, tools in found
            for upstream_tool in upstream_tools(upstream, tools)
            if tool_filter.shows(upstream_tool)
        ]

    async def find(self, name: str, tool_filter: ToolFilter) -> UpstreamTool | None:
        """A tool by its prefixed name, if the filter shows it. Raises Unavailable if a server that may have it failed."""
        failures: list[Failure] = []
        candidates = [upstream for upstream in self.matching(tool_filter) if name.startswith(prefix_of(upstream))]
        for upstream in sorted(candidates, key=lambda each: -len(prefix_of(each))):
            try:
                found = [each for each in upstream_tools(upstream, await upstream.tools()) if each.name == name and tool_filter.shows(each)]
            except Failure as failure:
                failures.append(failure)
                continue
            if found:
                return found[0]
        if failures:
            raise failures[0]
        return None

    async def each[T](
        self, upstreams: list[UpstreamServer], ask: Callable[[UpstreamServer], Awaitable[list[T]]]
    ) -> list[tuple[UpstreamServer, list[T]]]:
        """Query servers concurrently; one that fails or is late is left out."""
        asked = {upstream.name: self._tasks.start(_or_nothing(ask(upstream))) for upstream in upstreams}
        if asked:
            await asyncio.wait(asked.values(), timeout=LIST_SECONDS)
        return [(upstream, asked[upstream.name].result()) for upstream in upstreams if asked[upstream.name].done()]

    def status(self, tool_filter: ToolFilter) -> list[dict[str, Any]]:
        """The state of every server that the caller may use, without starting one."""
        origins = self._registry.servers()
        return [
            {
                "name": upstream.name,
                "kind": upstream.config.kind,
                "origin": origins[upstream.name].origin,
                "state": upstream.state,
                "hidden": upstream.config.hidden,
                "tools": None if upstream.known_tools is None else len(upstream.known_tools),
                "reason": upstream.reason or None,
            }
            for upstream in self.all().values()
            if tool_filter.may_use(upstream.config.scope)
        ]


def prefix_of(upstream: UpstreamServer) -> str:
    """The prefix of a server's tool names."""
    return f"{upstream.name}_" if upstream.config.prefix is None else upstream.config.prefix


def upstream_tools(upstream: UpstreamServer, tools: list[Tool]) -> Iterator[UpstreamTool]:
    """A server's exposed tools under their prefixed names; a name that has the prefix already keeps it."""
    prefix = prefix_of(upstream)
    for tool in tools:
        if upstream.config.tools is None or any(patterns.glob(each).fullmatch(tool.name) for each in upstream.config.tools):
            yield UpstreamTool(tool.name if tool.name.startswith(prefix) else f"{prefix}{tool.name}", tool, upstream)


def _matches(upstream: UpstreamServer, tool_filter: ToolFilter) -> bool:
    named = upstream.name in tool_filter.servers
    return tool_filter.may_use(upstream.config.scope) and (named or not (tool_filter.servers or upstream.config.hidden))


async def _or_nothing[T](asked: Awaitable[list[T]]) -> list[T]:
    try:
        return await asked
    except Failure:
        return []  # its state has the reason
