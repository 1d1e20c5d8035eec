"""Let a browser-use agent drive the sandbox's browser, and ask you; whoever looks at the desktop sees it, and can take over."""

import asyncio
import os

from browser_use import Agent, ChatOpenAI
from tandem import AsyncSandbox
from tandem.integrations.browser_use import STEP_SECONDS, PersonTools, session

TASK = os.environ.get("TASK", "Open https://example.org, ask me which language I want, and tell the first heading of the page in it.")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""


async def main() -> None:
    """Do a task, and tell how it ended."""
    # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
    model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini"), base_url=os.environ.get("OPENAI_BASE_URL"))
    async with AsyncSandbox(patience=PATIENCE) as sandbox:
        print("watch:", await sandbox.view_url())
        tools = PersonTools(sandbox, patience=PATIENCE, person_timeout=PATIENCE)
        settings = {"use_vision": False, "use_judge": False, "step_timeout": STEP_SECONDS}
        agent = Agent(TASK, llm=model, browser_session=session(sandbox), tools=tools, **settings)
        history = await agent.run(max_steps=10)
    print("visited:", *filter(None, history.urls()))
    print("contents:", *history.extracted_content(), sep="\n")
    print("failures:", *filter(None, history.errors()))
    print("result:", history.final_result())


asyncio.run(main())
