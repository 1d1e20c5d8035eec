"""Reads a page as browser-use does, unchanged, and tells what it saw."""

import asyncio
import json
import sys

from browser_use import BrowserSession


async def main(endpoint: str, headers: dict[str, str], address: str) -> None:
    session = BrowserSession(cdp_url=endpoint, headers=headers, keep_alive=True)
    await session.start()
    await session.navigate_to(address, new_tab=True)
    state = await session.get_browser_state_summary()
    found = "Press me" in state.dom_state.llm_representation()
    sys.stdout.write("\n" + json.dumps({"url": state.url, "found": found}) + "\n")
    await session.stop()


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
