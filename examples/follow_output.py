"""Follow a command's output while it is written, and go on where the connection broke. Nothing is lost and the command runs once."""

import json
import os
from collections.abc import Iterator
from typing import Any

import httpx

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
HEADERS = {"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}", "Accept": "text/event-stream"}
COMMAND = {"command": "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.2; done; exit 7"}


def events(after: str | None) -> Iterator[tuple[str, str, Any]]:
    """Id, name and data of each event; `after` is the last one that was seen."""
    headers = HEADERS | ({"Last-Event-ID": after} if after else {})
    with httpx.stream("POST", f"{URL}/v1/bash/exec", headers=headers, json=COMMAND, timeout=60) as response:
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            name, _, value = line.partition(": ")
            fields[name] = value
            if not line and "data" in fields:
                yield fields["id"], fields["event"], json.loads(fields["data"])
                fields = {}


last = None
for event_id, name, data in events(None):
    last = event_id
    if name == "output":
        print(data["data"], end="")
        if "line 3" in data["data"]:
            print("-- the connection breaks --")
            break

for _, name, data in events(last):
    print(data["data"] if name == "output" else f"{name}: exit code {data['exit_code']}\n", end="")
