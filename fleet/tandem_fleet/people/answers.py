"""Reading what sandboxes answer. Their programs wrote it: it is text of bounded length, or it is refused."""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

LINE = 200
"""Characters of a line."""
_KEPT = "\n\t"


class UnusableAnswer(ValueError):
    """A sandbox did not answer, or not with what was asked for."""


def parsed(content: bytes) -> Any:
    """JSON. Raises `UnusableAnswer`."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableAnswer("the sandbox sent no JSON that can be read") from error


def shown_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """A sandbox's labels as they are shown."""
    return {plain(name): plain(value) for name, value in labels.items()}


def plain(value: object, most: int = LINE) -> str:
    """A text without characters that hide or turn text, cut to a length; empty for what is no text."""
    text = value[: most * 4] if isinstance(value, str) else ""
    shown = "".join(one if one in _KEPT or unicodedata.category(one)[0] != "C" else " " for one in text)
    shown = re.sub(r"\n{3,}", "\n\n", shown.replace("\u2028", " ").replace("\u2029", " ")).strip()
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
