"""Which tools one request sees: its caller's scopes and allow list, narrowed by the URL's query."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from sandbox_server.core.identity import Caller
from sandbox_server.core.tool_allow_list import AllowList, names_one
from sandbox_server.mcp.toolsets import DEFAULT, NAMES, in_toolset


class FilteredTool(Protocol):
    """The properties of a tool that the filter reads."""

    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...
    @property
    def server(self) -> str: ...
    @property
    def tags(self) -> frozenset[str]: ...
    @property
    def scope(self) -> str: ...
    @property
    def read_only(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """The tools, servers and scopes of one request."""

    scopes: frozenset[str]
    search: str = ""
    names: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    read_only: bool = False
    allowed: AllowList = None
    """The tools that the caller's token lists."""
    toolsets: frozenset[str] = frozenset()

    def shows(self, tool: FilteredTool) -> bool:
        """Whether this request sees the tool."""
        return (
            self.may_use(tool.scope)
            and (self.search in tool.name or self.search in tool.server)
            and (not self.names or not self.names.isdisjoint(names_of(tool)))
            and (not self.servers or tool.server in self.servers)
            and (not self.tags or not self.tags.isdisjoint(tool.tags))
            and (tool.read_only or not self.read_only)
            and (not self.toolsets or any(in_toolset(tool.name, tool.server, toolset) for toolset in self.toolsets & set(NAMES)))
            and self.allows(tool)
        )

    def lists(self, tool: FilteredTool) -> bool:
        """Whether the tool is listed: of what this request sees and did not ask for in any way, the default tools are."""
        asked = self.search or self.names or self.servers or self.tags or self.toolsets or self.allowed is not None
        return self.shows(tool) and (bool(asked) or in_toolset(tool.name, tool.server, DEFAULT))

    @property
    def unknown_toolsets(self) -> list[str]:
        """The toolsets asked for that do not exist."""
        return sorted(self.toolsets - set(NAMES))

    def may_use(self, scope: str) -> bool:
        """Whether the caller has a scope, or needs none."""
        return scope in ("any", "public") or scope in self.scopes

    def allows(self, tool: FilteredTool) -> bool:
        """Whether the caller's token lists the tool, or lists none at all."""
        return names_one(self.allowed, names_of(tool))


def names_of(tool: FilteredTool) -> tuple[str, ...]:
    """The name of a tool and its aliases."""
    return (tool.name, *tool.aliases)


def filter_of(request: Request) -> ToolFilter:
    """Read the filter from the gateway's headers and the query.

    `?search=` matches a part of a tool's or server's name. `?servers=`, `?tools=`, `?tags=` and `?toolsets=` are lists of names.
    `?readonly=1` hides tools that change something.
    """
    query, caller = request.query_params, Caller.from_headers(request.headers)
    return ToolFilter(
        scopes=caller.scopes if caller else frozenset(),
        search=query.get("search", ""),
        names=frozenset(_words(query.getlist("tools"))),
        servers=frozenset(_words(query.getlist("servers"))),
        tags=frozenset(_words(query.getlist("tags"))),
        read_only=query.get("readonly", "").lower() in ("1", "true", "yes"),
        allowed=caller.tools if caller else None,
        toolsets=frozenset(_words(query.getlist("toolsets"))),
    )


def _words(values: list[str]) -> Iterator[str]:
    return (word.strip() for value in values for word in value.split(",") if word.strip())
