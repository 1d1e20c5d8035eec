"""A model that is a script: a server of OpenAI's chat completions, which says what the test wants it to say."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tests.clients.python.integrations.scripted_model import answering

type Conversation = list[dict[str, Any]]
type Step = Callable[[Conversation], dict[str, Any]]
"""What the model says to a conversation, as OpenAI's message."""


def says(text: str) -> Step:
    """Words."""
    return lambda _: {"role": "assistant", "content": text}


def calls(name: str, **arguments: object) -> Step:
    """One call of a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return lambda _: {"role": "assistant", "content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}


def repeats(prefix: str) -> Step:
    """Words, and after them what the last tool answered."""
    return lambda conversation: {"role": "assistant", "content": f"{prefix}{text_of(conversation[-1])}"}


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, of one part or of several."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _answer(left: list[Step], asked: dict[str, Any]) -> dict[str, Any]:
    message = left.pop(0)(asked["messages"]) if left else {"role": "assistant", "content": "the script is at its end"}
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    return {
        "id": "completion-1",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@contextmanager
def playing(*steps: Step) -> Iterator[dict[str, str]]:
    """The variables that lead an example to a model that takes these steps, all of which have to be taken."""
    left = list(steps)
    with answering(partial(_answer, left), left) as url:
        yield {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "MODEL": "gpt-5-mini"}
