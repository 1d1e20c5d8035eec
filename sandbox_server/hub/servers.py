"""All servers behind the hub: kept in step with what is wanted, asked side by side, none of them able to hold up the others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool

from sandbox_server import patterns
from sandbox_server.core.errors import Failure, NotFound
from sandbox_server.core.mcp.view import View
from sandbox_server.core.tasks import Tasks
from sandbox_server.hub.changes import EVERY_LIST, Changes
from sandbox_server.hub.connection import Admit, Connect, Wake, awake
from sandbox_server.hub.sources import Source, Sources
from sandbox_server.hub.upstream import Upstream

WATCH_SECONDS = 2.0
"""How soon a client that is there hears of a changed file."""
LIST_SECONDS = 10.0
"""How long a list waits for servers that are just starting; what comes later is in the next list."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A tool of a server behind the hub, under the name that it has here."""

    name: str
    tool: Tool
    """As its server tells it, under its own name."""
    upstream: Upstream
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


class Servers:
    """The servers that `sources` wants, each started when it is first needed."""

    def __init__(
        self,
        sources: Sources,
        connect: Connect,
        *,
        idle_seconds: float,
        known: Mapping[str, list[Tool]] | None = None,
        wake: Wake = awake,
        admit: Admit = awake,
        changes: Changes | None = None,
    ) -> None:
        self._sources = sources
        self._connect = connect
        self._idle_seconds = idle_seconds
        self._known = known or {}
        self._wake = wake
        self._admit = admit
        self.changes = changes or Changes()
        """Who is told when there are others, or when one of them has others to give."""
        self._running: dict[str, Upstream] = {}
        self._seen = False
        self._tasks = Tasks()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Servers"]:
        """End every server with the context."""
        self._tasks.start(self._watch(), name="look for changed MCP servers")
        try:
            yield self
        finally:
            await self.changes.close()
            await asyncio.gather(*(upstream.close() for upstream in self._running.values()))
            await self._tasks.close()

    def all(self) -> dict[str, Upstream]:
        """Every server, after those that are no longer wanted, or wanted otherwise, were told to end."""
        wanted = self._sources.wanted()
        gone = [name for name, upstream in self._running.items() if name not in wanted or wanted[name].config != upstream.config]
        for name in gone:
            self._tasks.start(self._running.pop(name).close(), name=f"end of MCP server {name}")
        came = [name for name in wanted if name not in self._running]
        for name in came:
            self._running[name] = self._made(name, wanted[name])
        if self._seen and (gone or came):
            self.changes.tell(*EVERY_LIST)
        self._seen = True
        return {name: self._running[name] for name in wanted}

    def later(self, upstream: Upstream, uri: str) -> None:
        """Follow a resource no more, in the background, for a request that was cancelled can wait for nothing."""
        self._tasks.start(upstream.unfollow(uri), name=f"unfollow a resource of {upstream.name}")

    async def _watch(self) -> None:
        """Look for what has changed in the files while there is somebody to tell; each request looks by itself."""
        while True:
            await self.changes.somebody.wait()
            self.all()
            await asyncio.sleep(WATCH_SECONDS)

    def _made(self, name: str, source: Source) -> Upstream:
        admit = awake if source.origin == "built-in" else self._admit  # its own acts go through the gateway, and are told apart there
        upstream = Upstream(name, source.config, self._connect, self._idle_seconds, self._wake, self.changes.tell, admit)
        if source.origin == "built-in" and name in self._known:
            upstream.remember(self._known[name])
        return upstream

    def in_view(self, view: View) -> list[Upstream]:
        """The servers of which a view may show anything."""
        return [upstream for upstream in self.all().values() if _in_view(upstream, view)]

    def named(self, name: str, view: View) -> Upstream:
        """A server that the caller may use. Raises NotFound."""
        upstream = self.all().get(name)
        if upstream is None or not view.may_use(upstream.config.scope):
            raise NotFound(f"no MCP server {name!r}", name=name)
        return upstream

    async def listed(self, view: View) -> list[Foreign]:
        """The tools of all servers that a view shows."""
        asked = self.in_view(view)
        found = await self.each(asked, Upstream.tools)
        for upstream in asked:
            if upstream.known_tools is None:
                upstream.missed()
        return [foreign for upstream, tools in found for foreign in foreigners(upstream, tools) if view.shows(foreign)]

    async def find(self, name: str, view: View) -> Foreign | None:
        """A tool by the name that it has here, if the view shows it. Raises Unavailable where the server that may have it does not work."""
        failures: list[Failure] = []
        candidates = [upstream for upstream in self.in_view(view) if name.startswith(prefix_of(upstream))]
        for upstream in sorted(candidates, key=lambda each: -len(prefix_of(each))):
            try:
                found = [each for each in foreigners(upstream, await upstream.tools()) if each.name == name and view.shows(each)]
            except Failure as failure:
                failures.append(failure)
                continue
            if found:
                return found[0]
        if failures:
            raise failures[0]
        return None

    async def each[T](self, upstreams: list[Upstream], ask: Callable[[Upstream], Awaitable[list[T]]]) -> list[tuple[Upstream, list[T]]]:
        """Ask servers side by side; one that fails, or is not there in time, is left out."""
        asked = {upstream.name: self._tasks.start(_or_nothing(ask(upstream))) for upstream in upstreams}
        if asked:
            await asyncio.wait(asked.values(), timeout=LIST_SECONDS)
        return [(upstream, asked[upstream.name].result()) for upstream in upstreams if asked[upstream.name].done()]

    def status(self, view: View) -> list[dict[str, Any]]:
        """What is known of every server that the caller may use, without starting one."""
        origins = self._sources.wanted()
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
            if view.may_use(upstream.config.scope)
        ]


def prefix_of(upstream: Upstream) -> str:
    """What the names of a server's tools begin with."""
    return f"{upstream.name}_" if upstream.config.prefix is None else upstream.config.prefix


def foreigners(upstream: Upstream, tools: list[Tool]) -> Iterator[Foreign]:
    """A server's tools that are let through, under the names that they have here: a prefix that is there already is not doubled."""
    prefix = prefix_of(upstream)
    for tool in tools:
        if upstream.config.tools is None or any(patterns.glob(each).fullmatch(tool.name) for each in upstream.config.tools):
            yield Foreign(tool.name if tool.name.startswith(prefix) else f"{prefix}{tool.name}", tool, upstream)


def _in_view(upstream: Upstream, view: View) -> bool:
    named = upstream.name in view.servers
    return view.may_use(upstream.config.scope) and (named or not (view.servers or upstream.config.hidden))


async def _or_nothing[T](asked: Awaitable[list[T]]) -> list[T]:
    try:
        return await asked
    except Failure:
        return []  # its state says why
