"""A model that is a script: a server of Gemini's generateContent, which says what a test wants it to say."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.clients.python.integrations.scripted_model import answering

Part = dict[str, Any]


def says(text: str) -> Part:
    """Words, after which the turn is over."""
    return {"text": text}


def calls(name: str, **args: object) -> Part:
    """A call of a function."""
    return {"functionCall": {"name": name, "args": args}}


class GeminiScript:
    """What the model says, turn by turn, and what it was asked."""

    def __init__(self, turns: tuple[Part, ...]) -> None:
        self.left = list(turns)
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    def responses(self) -> list[Any]:
        """What the functions answered, in their order, as the model was told at last."""
        parts = [part for content in self.asked[-1]["contents"] for part in content["parts"]]
        return [part["functionResponse"] for part in parts if "functionResponse" in part]

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The next turn."""
        self.asked.append(asked)
        part = self.left.pop(0) if self.left else says("the script is at its end")
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


@contextmanager
def playing(*turns: Part) -> Iterator[GeminiScript]:
    """A server that plays these turns, all of which have to be taken."""
    script = GeminiScript(turns)
    with answering(script.answer, script.left) as script.url:
        yield script
