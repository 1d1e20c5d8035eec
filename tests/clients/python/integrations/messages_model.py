"""A model that is a script: a server of Anthropic's messages, which says what a test wants it to say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.clients.python.integrations.scripted_model import answering

Block = dict[str, Any]


def says(text: str) -> Block:
    """Words."""
    return {"type": "text", "text": text}


def uses(name: str, toolset: str | None = None, **given: object) -> Block:
    """A call of a tool, or of a member of a toolset."""
    return {"type": "tool_use", "name": name, "input": given, **({"toolset_name": toolset} if toolset else {})}


class Script:
    """What is said in each turn, and what was asked."""

    def __init__(self, *turns: Block) -> None:
        self.turns = list(turns)
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    def results(self) -> list[Block]:
        """The results that the model was told, in order, whether a request repeats the conversation or goes on with it."""
        messages = [message for asked in self.asked for message in asked["messages"] if isinstance(message["content"], list)]
        found = {block["tool_use_id"]: block for message in messages for block in message["content"] if block["type"] == "tool_result"}
        return list(found.values())

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The next turn."""
        self.asked.append(asked)
        block = self.turns.pop(0) if self.turns else says("the script is at its end")
        if block["type"] == "tool_use":
            block = {**block, "id": f"toolu_{len(self.asked)}"}
        answer: dict[str, Any] = {
            "id": f"msg_{len(self.asked)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [block],
        }
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        return answer | {"stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


@contextmanager
def playing(*turns: Block) -> Iterator[Script]:
    """A server that takes these turns, all of which have to be taken."""
    script = Script(*turns)
    with answering(script.answer, script.turns) as script.url:
        yield script
