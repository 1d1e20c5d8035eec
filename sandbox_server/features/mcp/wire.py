"""The protocol's own words for tools and results, as the contract answers them: what a server sends is passed on as it is."""

from typing import Any, Literal, NotRequired, TypedDict

type Anything = dict[str, Any]


class Icon(TypedDict):
    src: str
    mimeType: NotRequired[str | None]
    sizes: NotRequired[list[str] | None]


class Annotations(TypedDict):
    """For whom content is, and how much it matters."""

    audience: NotRequired[list[Literal["user", "assistant"]] | None]
    priority: NotRequired[float | None]


class ToolAnnotations(TypedDict):
    """What a tool says of itself; hints, not promises."""

    title: NotRequired[str | None]
    readOnlyHint: NotRequired[bool | None]
    destructiveHint: NotRequired[bool | None]
    idempotentHint: NotRequired[bool | None]
    openWorldHint: NotRequired[bool | None]


class ToolExecution(TypedDict):
    """How a tool may be run."""

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
