"""Let a browser-use agent drive the sandbox's browser; whoever looks at the desktop sees it, and can take over."""

import asyncio
import os

from browser_use import Agent, BrowserSession, ChatOpenAI

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
TASK = os.environ.get("TASK", "Open https://example.org and tell the first heading of the page.")


async def main() -> None:
    """Do a task, and tell how it ended."""
    browser = BrowserSession(
        cdp_url=f"{URL.replace('http', 'ws', 1)}/devtools/browser/any",
        headers={"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"},
        keep_alive=True,
    )
    # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
    model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini"), base_url=os.environ.get("OPENAI_BASE_URL"))
    agent = Agent(TASK, llm=model, browser_session=browser, use_vision=False, use_judge=False)
    history = await agent.run(max_steps=10)
    print("visited:", *filter(None, history.urls()))
    print("result:", history.final_result())


asyncio.run(main())
