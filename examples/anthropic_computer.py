"""An agent with Anthropic's SDK that uses the screen, a shell and files, and asks the person who shares the computer."""

import os

from anthropic import Anthropic
from tandem import Sandbox
from tandem.integrations.anthropic import asking_before, tools

TASK = os.environ.get("TASK", "Open example.org in the browser, and ask me whether you shall save a summary to ~/summary.txt.")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""
MAX_TURNS = 30

model = Anthropic()  # ANTHROPIC_API_KEY, and ANTHROPIC_BASE_URL for another server of the same API
with Sandbox(patience=PATIENCE) as sandbox:
    runner = model.beta.messages.tool_runner(
        model=os.environ.get("MODEL", "claude-opus-4-8"),
        max_tokens=4096,
        max_iterations=MAX_TURNS,
        tools=tools(sandbox, confirm=asking_before(sandbox, "type"), display=(1280, 1024), person_timeout=PATIENCE),
        messages=[{"role": "user", "content": TASK}],
    )
    for message in runner:
        for block in message.content:
            if block.type == "text":
                print("model:", block.text)
            elif block.type == "tool_use":
                print("call:", block.name, block.input)
        answered = runner.generate_tool_call_response()
        for result in answered["content"] if answered else ():
            shown = (
                result["content"] if isinstance(result["content"], str) else [part.get("text", part["type"]) for part in result["content"]]
            )
            print("result:", shown)
