"""The tool catalog: the API's operations as MCP tools, read from its OpenAPI document."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.schemas import Schema, inline_references, object_of

ENVELOPE = frozenset({"success", "message", "data", "hint"})
"""The keys of the response envelope; a response with exactly these is unwrapped."""
FILE_ERROR = {"$ref": "#/components/schemas/FileOperationError"}
MAIN, BROWSER, MARKITDOWN = "sandbox", "browser", "markitdown"
SERVERS = (MAIN, BROWSER, MARKITDOWN)
"""The contract's server names for the API's tools: a tool belongs to its name's prefix, else to the first."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApiTool:
    """One operation as a tool, with its HTTP request."""

    name: str
    aliases: tuple[str, ...]
    server: str
    """One of SERVERS."""
    tags: frozenset[str]
    title: str
    description: str
    scope: str
    verb: str
    path: str
    in_path: frozenset[str]
    in_query: frozenset[str]
    takes_body: bool
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    page_text: bool
    """Its result has text that a page or a document wrote."""
    input_schema: Schema
    output_schema: Schema | None
    enveloped: bool
    """The response has the envelope; the agent gets its `data`."""
    wrapped: bool
    """`data` is not an object; the agent gets it as `{"result": data}`."""


class ToolCatalog:
    """Every tool by name and alias."""

    def __init__(self, tools: list[ApiTool]) -> None:
        self._tools = sorted(tools, key=lambda tool: tool.name)
        self._by_name = {name: tool for tool in tools for name in (tool.name, *tool.aliases)}

    def listed(self, tool_filter: ToolFilter) -> list[ApiTool]:
        """The tools that a filter shows, in alphabetical order, without aliases."""
        return [tool for tool in self._tools if tool_filter.shows(tool)]

    def find(self, name: str, tool_filter: ToolFilter) -> ApiTool | None:
        """A tool by name or alias, if the filter shows it."""
        tool = self._by_name.get(name)
        return tool if tool is not None and tool_filter.shows(tool) else None

    def has(self, name: str) -> bool:
        """Whether any tool has this name or alias, whatever the filter."""
        return name in self._by_name

    def input_schema(self, name: str) -> Schema | None:
        """The input schema of a tool, whatever the filter."""
        tool = self._by_name.get(name)
        return tool.input_schema if tool else None


def read_catalog(document: Mapping[str, Any]) -> ToolCatalog:
    """Read the operations that are tools. One that no agent could call is skipped and logged."""
    tools: list[ApiTool] = []
    for verb, path, entry in _entries(document):
        try:
            tools += _with_alias_entries(_tool(verb, path, entry, document["components"]["schemas"]))
        except ValueError as error:
            _log.error("the tool %s is skipped: %s", entry["x-tool"], error)
    return ToolCatalog(tools)


def _with_alias_entries(tool: ApiTool) -> Iterator[ApiTool]:
    """The tool, and a second entry for aliases that belong to the markitdown server."""
    theirs = tuple(alias for alias in tool.aliases if alias.startswith(f"{MARKITDOWN}_"))
    if theirs:
        yield replace(tool, name=theirs[0], aliases=theirs[1:], server=MARKITDOWN)
    yield replace(tool, aliases=tuple(alias for alias in tool.aliases if alias not in theirs))


def _server_of(name: str) -> str:
    return next((server for server in SERVERS if name.startswith(f"{server}_")), MAIN)


def _entries(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, entries in document["paths"].items():
        for verb, entry in entries.items():
            if "x-tool" in entry:
                yield verb.upper(), path, entry


def _tool(verb: str, path: str, entry: dict[str, Any], components: Mapping[str, Any]) -> ApiTool:
    parameters = entry.get("parameters", [])
    body = _body_schema(entry, components)
    properties = {found["name"]: inline_references(found["schema"], components) for found in parameters} | body.get("properties", {})
    required = [found["name"] for found in parameters if found["required"]] + body.get("required", [])
    data, enveloped = _result_schema(entry, components)
    return ApiTool(
        name=entry["x-tool"],
        aliases=tuple(entry.get("x-aliases", ())),
        server=_server_of(entry["x-tool"]),
        tags=frozenset(entry.get("tags", ())),
        title=entry["summary"].rstrip("."),
        description=f"{entry['summary']}\n\n{entry.get('description', '')}".strip(),
        scope=entry["x-scope"],
        verb=verb,
        path=path,
        in_path=frozenset(found["name"] for found in parameters if found["in"] == "path"),
        in_query=frozenset(found["name"] for found in parameters if found["in"] == "query"),
        takes_body="requestBody" in entry,
        read_only=entry["x-read-only"],
        destructive=entry["x-destructive"],
        idempotent=entry.get("x-idempotent", False),
        open_world=entry.get("x-open-world", False),
        page_text=entry.get("x-page-text", False),
        input_schema=object_of(properties, required),
        output_schema=_output_schema(data),
        enveloped=enveloped,
        wrapped=data is not None and data.get("type") != "object",
    )


def _body_schema(entry: Mapping[str, Any], components: Mapping[str, Any]) -> Schema:
    content = entry.get("requestBody", {}).get("content", {"application/json": {"schema": {"type": "object"}}})
    if "application/json" not in content:
        raise ValueError(f"it takes {', '.join(content)}, which no agent can send")
    schema = inline_references(content["application/json"]["schema"], components)
    if schema.get("type") != "object":
        raise ValueError("its arguments are not an object")
    return schema


def _result_schema(entry: Mapping[str, Any], components: Mapping[str, Any]) -> tuple[Schema | None, bool]:
    """The schema of the agent's result, None if unknown, and whether the response has the envelope."""
    content = entry["responses"]["200"]["content"]
    if "application/json" not in content:
        if "text/event-stream" in content:
            raise ValueError("it only streams events, which no tool can return")
        return None, False
    schema = content["application/json"]["schema"]
    enveloped = frozenset(schema.get("properties", ())) == ENVELOPE
    if enveloped:
        schema = _without_failure(schema["properties"]["data"])
    return inline_references(schema, components) or None, enveloped


def _without_failure(data: Schema) -> Schema:
    """Remove the file error, which an agent gets as an error result."""
    if FILE_ERROR not in data.get("anyOf", ()):
        return data
    left = [schema for schema in data["anyOf"] if schema != FILE_ERROR]
    return left[0] if len(left) == 1 else {**data, "anyOf": left}


def _output_schema(data: Schema | None) -> Schema | None:
    if data is None or data.get("type") == "object":
        return data
    return {"type": "object", "properties": {"result": data}, "required": ["result"]}
