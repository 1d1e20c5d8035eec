"""Let a model run code and commands in the sandbox: OpenAI's tool calls, in a loop, until it answers in words."""

import json
import os
from typing import Any

import httpx
from openai import OpenAI

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
TASK = os.environ.get("TASK", "How many prime numbers are there below 1000? Compute it, and save the number to /tmp/primes.txt.")
MAX_TURNS = 20

TEXT = {"type": "string"}
TOOLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "run_python": ("/v1/code/execute", "Run Python; the value of a last expression is shown.", {"code": TEXT}),
    "run_command": ("/v1/bash/exec", "Run a command in bash.", {"command": TEXT}),
    "read_page": ("/v1/util/convert_to_markdown", "Read a web page or a document as Markdown.", {"uri": TEXT}),
}


def described(name: str) -> Any:
    """A tool as a model is told of it."""
    _, purpose, properties = TOOLS[name]
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": purpose, "parameters": parameters}}


def call(sandbox: httpx.Client, name: str, arguments: str) -> str:
    """Call a tool; what went wrong is for the model to read, too."""
    path, _, _ = TOOLS[name]
    fields = json.loads(arguments) | ({"language": "python"} if name == "run_python" else {})
    answer = sandbox.post(path, json=fields).json()
    shown = answer["data"] if answer.get("success") else answer
    print(f"{name}: {json.dumps(shown)[:200]}")
    return json.dumps(shown)


def main() -> None:
    """Ask, do what is asked for, and ask again."""
    model = OpenAI()  # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
    messages: list[Any] = [{"role": "user", "content": TASK}]
    with httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}, timeout=120) as sandbox:
        for _ in range(MAX_TURNS):
            said = model.chat.completions.create(
                model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages, tools=[described(name) for name in TOOLS]
            )
            message = said.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                print(message.content)
                return
            for wanted in message.tool_calls:
                result = call(sandbox, wanted.function.name, wanted.function.arguments)
                messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})


main()
