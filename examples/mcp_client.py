"""See which tools an agent has, and call some."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
HEADERS = {"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}


async def main() -> None:
    """List the tools, then write a file, run it and read its output."""
    async with (
        httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
        Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as agent,
    ):
        for tool in (await agent.list_tools()).tools:
            print(f"{tool.name}: {tool.title}")
        path = "/tmp/greet.py"
        await agent.call_tool("sandbox_file_operations", {"action": "write", "path": path, "content": "print('hello from the sandbox')\n"})
        ran = await agent.call_tool("sandbox_execute_bash", {"cmd": f"python3 {path}"})
        print(ran.structured_content)


asyncio.run(main())
