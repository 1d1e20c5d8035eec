"""An agent with OpenAI's Agents SDK that uses the screen and a workspace, and asks the person who shares the computer."""

import asyncio
import os

from agents import ComputerTool, Runner, set_tracing_disabled
from agents.run import RunConfig
from agents.sandbox import SandboxAgent, SandboxRunConfig
from agents.sandbox.capabilities import Filesystem, Shell
from tandem import AsyncSandbox
from tandem.integrations.openai_agents import ScreenComputer, asking_on_safety_checks, tools
from tandem.integrations.openai_sandbox import TandemSandboxClient

TASK = os.environ.get("TASK", "Open example.org, and ask me whether you shall save a summary to summary.txt.")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""


async def main() -> None:
    """Do a task, and tell what was said and done."""
    set_tracing_disabled(disabled=True)
    async with AsyncSandbox(patience=PATIENCE) as sandbox:
        print("watch:", await sandbox.view_url())
        screen = ComputerTool(ScreenComputer(sandbox), on_safety_check=asking_on_safety_checks(sandbox, timeout=PATIENCE))
        agent = SandboxAgent(
            name="helper",
            model=os.environ.get("MODEL", "gpt-5.4"),  # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
            tools=[*tools(sandbox, person_timeout=PATIENCE), screen],
            capabilities=[Filesystem(), Shell()],
        )
        workspace = SandboxRunConfig(client=TandemSandboxClient(sandbox))
        result = await Runner.run(agent, TASK, max_turns=30, run_config=RunConfig(sandbox=workspace))
        for item in result.new_items:
            if item.type == "tool_call_output_item":
                print("result:", str(item.output)[:500])
        print("model:", result.final_output)


asyncio.run(main())
