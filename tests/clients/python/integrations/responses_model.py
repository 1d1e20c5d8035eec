"""A model that is a script: a server of OpenAI's responses, which says what a test wants it to say."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.clients.python.integrations.scripted_model import answering

Item = dict[str, Any]


def says(text: str) -> Item:
    """Words, after which the turn is over."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}


def calls(name: str, **arguments: object) -> Item:
    """A call of a function."""
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}


def acts(kind: str, *, checks: tuple[Item, ...] = (), **given: object) -> Item:
    """An action on the screen."""
    return {"type": "computer_call", "action": {"type": kind, **given}, "pending_safety_checks": list(checks)}


class ResponsesScript:
    """What the model says, turn by turn, and what it was asked."""

    def __init__(self, turns: tuple[Item, ...]) -> None:
        self.left = list(turns)
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    def outputs(self) -> list[Any]:
        """What the calls answered, in their order, as the model was told at last."""
        return [item["output"] for item in self.asked[-1]["input"] if item.get("type", "").endswith("_call_output")]

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The next turn."""
        self.asked.append(asked)
        number = str(len(self.asked))
        item = self.left.pop(0) if self.left else says("the script is at its end")
        ids = {"id": f"item-{number}", "status": "completed"}
        if item["type"].endswith("_call"):
            ids["call_id"] = f"call-{number}"
        return {
            "id": f"response-{number}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": "scripted",
            "output": [{**ids, **item}],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
        }


@contextmanager
def playing(*turns: Item) -> Iterator[ResponsesScript]:
    """A server that plays these turns, all of which have to be taken."""
    script = ResponsesScript(turns)
    with answering(script.answer, script.left) as url:
        script.url = f"{url}/v1"
        yield script
