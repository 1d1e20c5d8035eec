"""A Pydantic AI agent in the sandbox, and a person who is asked before it writes a file."""

import asyncio
import os

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel
from tandem import AsyncSandbox
from tandem.integrations.pydantic_ai import SandboxToolset, asking_before

TASK = os.environ.get("TASK", "Open https://example.org and save a summary of it to ~/summary.txt.")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""


async def main() -> None:
    """Do a task, and tell what was done and said."""
    model = OpenAIChatModel(os.environ.get("MODEL", "gpt-5-mini"))  # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
    async with AsyncSandbox(patience=PATIENCE) as sandbox:
        print("watch:", await sandbox.view_url())
        toolset = asking_before(sandbox, SandboxToolset(sandbox, person_timeout=PATIENCE), "write_file", timeout=PATIENCE)
        result = await Agent(model, toolsets=[toolset]).run(TASK)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                picture = isinstance(part.content, BinaryContent)
                print("result:", f"a picture of {part.content.media_type}" if picture else part.content)
    print("model:", result.output)


asyncio.run(main())
