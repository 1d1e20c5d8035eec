"""An agent in one file: a model with OpenAI's API that uses the computer, and asks a person for what it must not decide alone."""

import json
import os
from collections.abc import Callable
from typing import Any

from openai import OpenAI
from tandem import Sandbox, TandemError

TASK = os.environ.get("TASK", "Find out what example.org is for, and ask me whether you shall save a summary to ~/summary.txt.")
MAX_TURNS = 30
MOST_SHOWN = 20_000
"""Characters of a tool's answer that the model reads."""
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""


def tools_of(sandbox: Sandbox) -> dict[str, Callable[..., Any]]:
    """What the model may do, each with its purpose as docstring; all arguments are texts."""

    def run_command(command: str) -> str:
        """Run a command in bash."""
        done = sandbox.shell.run(command, timeout=120)
        return f"{done.stdout}{done.stderr}\n[{done.status}, exit code {done.exit_code}]"

    def open_page(url: str) -> str:
        """Open a web page in the browser, and read it as Markdown."""
        sandbox.page.goto(url)
        return sandbox.page.markdown()

    def click(selector: str) -> str:
        """Click an element of the page: a CSS selector, or text=Sign in."""
        sandbox.page.click(selector)
        return sandbox.page.text()

    def ask_person(question: str) -> str:
        """Ask the person a yes-or-no question before you do what cannot be undone."""
        answer = sandbox.ask(question, kind="confirm", timeout=PATIENCE)
        return {"done": "yes", "timeout": "nobody answered"}.get(str(answer.outcome), "no") + f" {answer.note}"

    return {tool.__name__: tool for tool in (run_command, open_page, click, ask_person)}


def described(tool: Callable[..., Any]) -> Any:
    """A tool as a model is told of it."""
    names = [name for name in tool.__annotations__ if name != "return"]
    parameters = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    return {"type": "function", "function": {"name": tool.__name__, "description": tool.__doc__, "parameters": parameters}}


def call(tools: dict[str, Callable[..., Any]], name: str, arguments: str) -> str:
    """Call a tool; what went wrong is for the model to read, too."""
    try:
        answer = str(tools[name](**json.loads(arguments)))
    except (TandemError, KeyError, TypeError, ValueError) as error:
        answer = f"it failed: {type(error).__name__}: {error}"
    print(f"{name}: {answer[:200]}")
    return answer[:MOST_SHOWN]


def main() -> None:
    """Ask the model, do what it asks for, and ask again."""
    model = OpenAI()  # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
    messages: list[Any] = [{"role": "user", "content": TASK}]
    with Sandbox(patience=PATIENCE) as sandbox:
        tools = tools_of(sandbox)
        listed = [described(tool) for tool in tools.values()]
        for _ in range(MAX_TURNS):
            said = model.chat.completions.create(model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages, tools=listed)
            message = said.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                print(message.content)
                return
            for wanted in message.tool_calls:
                result = call(tools, wanted.function.name, wanted.function.arguments)
                messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})


main()
