"""Run many commands at once with the asynchronous SDK, each in a process of its own."""

import asyncio
import os

from agent_sandbox import AsyncSandbox

COMMANDS = [f"sleep 0.{number}; echo {number} squared is $(({number} * {number}))" for number in range(5)]


async def main() -> None:
    """Start all, then print each as it ends."""
    sandbox = AsyncSandbox(
        base_url=os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080"),
        headers={"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"},
    )
    for ended in asyncio.as_completed([sandbox.bash.exec(command=command) for command in COMMANDS]):
        result = (await ended).data
        print(result.stdout.strip(), "- exit code", result.exit_code)


asyncio.run(main())
