"""An MCP server on standard streams: notes that last as long as it runs. It uses the SDK that the sandbox itself has."""

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("notes")
notes: list[str] = []


@server.tool()
def add(note: str) -> int:
    """Keep a note; gives how many there are."""
    notes.append(note)
    return len(notes)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read() -> list[str]:
    """Give all notes, the oldest first."""
    return notes


if __name__ == "__main__":
    server.run()
