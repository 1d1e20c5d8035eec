"""MCP tools over plain HTTP: list the tools of one server, and call one of them.

The result types are the protocol's own. What a server sends is passed on unchanged.
"""

from typing import Any, Literal, NotRequired, TypedDict, cast

from pydantic import Field

from sandbox_server.core import Call, Model, operation
from sandbox_server.drivers.clients.mcp_process import McpProcessClient

MAX_ARGUMENTS = 64 << 20
"""Bytes of a tool's arguments, as over MCP."""

type Anything = dict[str, Any]


class McpToolsRequest(Model):
    server_name: str


class McpToolCall(Model):
    server_name: str
    tool_name: str
    """The server's name of the tool, or the name that `/mcp` lists."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """The tool's arguments: the whole body."""


class Icon(TypedDict):
    src: str
    mimeType: NotRequired[str | None]
    sizes: NotRequired[list[str] | None]


class Annotations(TypedDict):
    """The audience of some content and its priority."""

    audience: NotRequired[list[Literal["user", "assistant"]] | None]
    priority: NotRequired[float | None]


class ToolAnnotations(TypedDict):
    """A tool's own description of its behaviour: hints, not promises."""

    title: NotRequired[str | None]
    readOnlyHint: NotRequired[bool | None]
    destructiveHint: NotRequired[bool | None]
    idempotentHint: NotRequired[bool | None]
    openWorldHint: NotRequired[bool | None]


class ToolExecution(TypedDict):
    """Whether a tool may run as a task."""

    taskSupport: NotRequired[Literal["forbidden", "optional", "required"] | None]


class Tool(TypedDict):
    name: str
    title: NotRequired[str | None]
    description: NotRequired[str | None]
    inputSchema: Anything
    outputSchema: NotRequired[Anything | None]
    icons: NotRequired[list[Icon] | None]
    annotations: NotRequired[ToolAnnotations | None]
    execution: NotRequired[ToolExecution | None]
    _meta: NotRequired[Anything | None]


class ListToolsResult(TypedDict):
    tools: list[Tool]
    nextCursor: NotRequired[str | None]
    _meta: NotRequired[Anything | None]


class TextContent(TypedDict):
    type: Literal["text"]
    text: str
    annotations: NotRequired[Annotations | None]
    _meta: NotRequired[Anything | None]


class ImageContent(TypedDict):
    type: Literal["image"]
    data: str
    mimeType: str
    annotations: NotRequired[Annotations | None]
    _meta: NotRequired[Anything | None]


class AudioContent(TypedDict):
    type: Literal["audio"]
    data: str
    mimeType: str
    annotations: NotRequired[Annotations | None]
    _meta: NotRequired[Anything | None]


class ResourceLink(TypedDict):
    type: Literal["resource_link"]
    name: str
    uri: str
    title: NotRequired[str | None]
    description: NotRequired[str | None]
    mimeType: NotRequired[str | None]
    size: NotRequired[int | None]
    icons: NotRequired[list[Icon] | None]
    annotations: NotRequired[Annotations | None]
    _meta: NotRequired[Anything | None]


class TextResource(TypedDict):
    uri: str
    text: str
    mimeType: NotRequired[str | None]
    _meta: NotRequired[Anything | None]


class BlobResource(TypedDict):
    uri: str
    blob: str
    mimeType: NotRequired[str | None]
    _meta: NotRequired[Anything | None]


class EmbeddedResource(TypedDict):
    type: Literal["resource"]
    resource: TextResource | BlobResource
    annotations: NotRequired[Annotations | None]
    _meta: NotRequired[Anything | None]


class CallToolResult(TypedDict):
    content: list[TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource]
    structuredContent: NotRequired[Anything | None]
    isError: NotRequired[bool]
    _meta: NotRequired[Anything | None]


class McpTools:
    """Lists and calls tools for clients that do not speak the protocol."""

    tag = "mcp"

    def __init__(self, mcp_process: McpProcessClient) -> None:
        self._mcp_process = mcp_process

    @operation("GET /v1/mcp/{server_name}/tools", scope="any")
    async def list_mcp_tools(self, request: McpToolsRequest, call: Call) -> ListToolsResult:
        """List the tools of one server, as it describes them."""
        return cast("ListToolsResult", await self._mcp_process.tools(request.server_name, call.headers))

    @operation(
        "POST /v1/mcp/{server_name}/tools/{tool_name}", scope="any", whole_body="arguments", ends_with_client=True, max_body=MAX_ARGUMENTS
    )
    async def execute_mcp_tool(self, request: McpToolCall, call: Call) -> CallToolResult:
        """Call a tool. A tool that fails is a result too: `isError` says so. Closing the connection cancels the call."""
        result = await self._mcp_process.call(request.server_name, request.tool_name, request.arguments, call.headers)
        return cast("CallToolResult", result)
