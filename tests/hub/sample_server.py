"""An MCP server for the tests of the hub, made with the SDK; as a program it speaks on its standard streams."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("sample")
cancelled: list[str] = []


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
    try:
        await context.report_progress(1, 3, "one of three")
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        cancelled.append(mark)
        if mark.startswith("/"):
            Path(mark).touch()
        raise
    return "never"


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
