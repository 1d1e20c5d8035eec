"""A sample upstream MCP server, made with the SDK; as a program it speaks over stdio."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    Completion,
    CompletionArgument,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    SamplingMessage,
    SubscribeRequestParams,
    TextContent,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

server = MCPServer("sample")
cancelled: list[str] = []
waiting: list[str] = []


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Give a text back."""
    return text


@server.tool()
def sample_sum(left: int, right: int) -> int:
    """Add."""
    return left + right


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it cannot be done")


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@server.tool()
async def wait(context: Context, mark: str) -> str:
    """Report that it began, wait until it is cancelled, and leave a mark then."""
    waiting.append(mark)
    if mark.startswith("/"):
        Path(f"{mark}.begun").touch()
    try:
        await context.report_progress(1, 3, "one of three")
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        cancelled.append(mark)
        if mark.startswith("/"):
            Path(mark).touch()
        raise
    return "never"


class Text(BaseModel):
    """What a user answers."""

    text: str


@server.tool()
async def ask(context: Context, question: str) -> str:
    """Ask the user of whoever calls."""
    answer = await context.elicit(question, Text)
    return answer.data.text if answer.action == "accept" else answer.action


@server.tool()
async def think(context: Context, about: str) -> str:
    """Ask the model of whoever calls."""
    message = SamplingMessage(role="user", content=TextContent(text=about))
    request = CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=10))
    related = ServerMessageMetadata(related_request_id=context.request_id)
    answer = await context.session.send_request(request, CreateMessageResult, metadata=related)
    return answer.content.text if isinstance(answer.content, TextContent) else answer.content.type


@server.tool()
async def log(context: Context, level: LoggingLevel, text: str) -> str:
    """Log."""
    entry = LoggingMessageNotificationParams(level=level, data=text)
    await context.session.send_notification(LoggingMessageNotification(params=entry), related_request_id=context.request_id)
    return text


@server.tool()
async def change(context: Context, uri: str) -> str:
    """Tell that a resource has changed, and every list."""
    await context.session.send_notification(ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=uri)))
    await context.session.send_tool_list_changed()
    await context.session.send_prompt_list_changed()
    await context.session.send_resource_list_changed()
    return uri


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(ref: object, argument: CompletionArgument, _: object) -> Completion:
    """Complete a name."""
    return Completion(values=[name for name in ("ann", "anton", "bob") if name.startswith(argument.value)])


followed: list[str] = []


async def _follow(_: object, params: SubscribeRequestParams) -> EmptyResult:
    followed.append(params.uri)
    return EmptyResult()


async def _unfollow(_: object, params: UnsubscribeRequestParams) -> EmptyResult:
    followed.remove(params.uri)
    return EmptyResult()


server._lowlevel_server.add_request_handler("resources/subscribe", SubscribeRequestParams, _follow)
server._lowlevel_server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, _unfollow)


@server.resource("sample://note")
def note() -> str:
    """A note."""
    return "take note"


@server.resource("sample://note/{name}")
def named_note(name: str) -> str:
    """A note by name."""
    return f"note {name}"


if __name__ == "__main__":
    if "--noise" in sys.argv:
        sys.stdout.write("starting...\n")
        sys.stderr.write("this is the sample\n")
    if "--die" in sys.argv:
        sys.exit("it lacks a key")
    if "--http" in sys.argv:
        server.run("streamable-http", port=int(sys.argv[-1]))
    else:
        server.run()
