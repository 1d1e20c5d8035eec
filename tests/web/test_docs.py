"""The reference of the API: its pure parts under Node, and what it says of the published SDK."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import sandbox_server

WEB = Path(sandbox_server.__file__).parent / "web"
CONTRACT = Path(__file__).parent.parent / "contract" / "aio-openapi-1.9.4.json"
NODE = "/opt/conformance/node"


def test_the_parts_that_need_no_page_do_what_they_say() -> None:
    node = NODE if os.access(NODE, os.X_OK) else shutil.which("node")
    assert node, "these tests need Node, which the image of the tests has: run scripts/test"

    done = subprocess.run(
        [node, "--test", "docs.test.mjs"], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stdout


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
