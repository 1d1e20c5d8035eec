"""The API reference: the operations that it shows for the published SDK."""

import json
import re
from pathlib import Path

import sandbox_server

WEB = Path(sandbox_server.__file__).parent / "web"
CONTRACT = Path(__file__).parent.parent / "contract" / "aio-openapi-1.9.4.json"


def test_the_operations_that_the_sdk_has_are_those_of_the_published_contract() -> None:
    published: dict[str, set[str]] = {}
    for verbs in json.loads(CONTRACT.read_text("utf-8"))["paths"].values():
        for entry in verbs.values():
            published.setdefault(entry["tags"][0], set()).add(entry.get("x-fern-sdk-method-name", ""))

    assert _shown() == published


def _shown() -> dict[str, set[str]]:
    text = (WEB / "docs" / "sdk.js").read_text("utf-8").partition("export const SDK = ")[2].rstrip(";\n")
    keyed = re.sub(r"^  ([\w-]+):", r'  "\1":', text, flags=re.MULTILINE)
    return {tag: set(names) for tag, names in json.loads(re.sub(r",(\s*[\]}])", r"\1", keyed)).items()}
