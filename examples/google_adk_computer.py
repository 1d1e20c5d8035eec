"""An agent with Google's Agent Development Kit that uses the screen and commands, and asks the person who shares the computer."""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools.computer_use.computer_use_toolset import ComputerUseToolset
from tandem import AsyncSandbox
from tandem.integrations.google_adk import ScreenOfSandbox, tools

TASK = os.environ.get("TASK", "Open example.org, and ask me whether you shall save a summary of it to ~/summary.txt.")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""


async def main() -> None:
    """Do a task, and tell what was done and said."""
    # GOOGLE_API_KEY, and GOOGLE_GEMINI_BASE_URL for another server of the same API
    model = Gemini(model=os.environ.get("MODEL", "gemini-3-flash-preview"), base_url=os.environ.get("GOOGLE_GEMINI_BASE_URL"))
    async with AsyncSandbox(patience=PATIENCE) as sandbox:
        print("watch:", await sandbox.view_url())
        screen = ComputerUseToolset(computer=ScreenOfSandbox(sandbox))
        agent = LlmAgent(name="helper", model=model, tools=[*tools(sandbox, person_timeout=PATIENCE), screen])
        for event in await InMemoryRunner(agent=agent, app_name="helper").run_debug(TASK, quiet=True):
            for part in event.content.parts if event.content else ():
                if part.function_response:
                    print("result:", part.function_response.name, str(part.function_response.response)[:500])
                elif part.text:
                    print("model:", part.text)


asyncio.run(main())
