"""Keep a state of the computer, let something go wrong, see what changed, and go back."""

import os
from typing import Any

import httpx

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")


def call(sandbox: httpx.Client, path: str, **fields: Any) -> dict[str, Any]:
    """Call an operation, and give its data."""
    data: dict[str, Any] = sandbox.post(path, json=fields).raise_for_status().json()["data"]
    return data


def shell(sandbox: httpx.Client, command: str) -> str:
    """Run a command, and give what it wrote."""
    done = call(sandbox, "/v1/bash/exec", command=command)
    return f"{done['stdout']}{done['stderr']}".strip()


def main() -> None:
    """Make a project, keep it, lose it, have it again."""
    headers = {"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}
    with httpx.Client(base_url=URL, headers=headers, timeout=120) as sandbox:
        shell(sandbox, "mkdir -p ~/project && echo 'three weeks of work' >~/project/notes.txt")
        made = call(sandbox, "/v1/checkpoints", label="before the cleanup")
        checkpoint = made["checkpoint"]["id"]
        print("kept, with", len(made["stopped"]), "programs stopped")

        shell(sandbox, "rm -rf ~/project; sudo rm -rf /usr/share/doc")
        print("after the cleanup:", shell(sandbox, "cat ~/project/notes.txt"))
        changed = sandbox.get("/v1/checkpoints/current/diff", params={"against": checkpoint}).raise_for_status().json()["data"]
        deleted = [path["path"] for path in changed["differences"] if path["change"] == "deleted"]
        print("deleted meanwhile:", *deleted)

        back = call(sandbox, f"/v1/checkpoints/{checkpoint}/restore")
        print("after going back:", shell(sandbox, "cat ~/project/notes.txt"))
        print("what was there is kept, too:", back["kept"]["label"])


main()
