"""Open a page, ask a person what to do there, and go on with the answer. No model is needed: the script is the agent."""

import os
from typing import Any

import httpx

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
PAGE = os.environ.get("PAGE", "https://example.org")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds that a person has to answer."""


def call(sandbox: httpx.Client, path: str, **fields: Any) -> dict[str, Any]:
    """Call an operation. While a person drives, `wait` lets it wait for its turn instead of being refused with 423."""
    answer = sandbox.post(path, json=fields, params={"wait": PATIENCE})
    answer.raise_for_status()
    data: dict[str, Any] = answer.json()["data"]
    return data


def main() -> None:
    """Navigate, ask, wait, go on."""
    headers = {"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}
    with httpx.Client(base_url=URL, headers=headers, timeout=PATIENCE + 60) as sandbox:
        landed = call(sandbox, "/v1/browser/page/navigate", url=PAGE)
        print("opened", landed["url"])

        request = call(
            sandbox,
            "/v1/handoffs",
            kind="choice",
            reason="Which part of this page shall I save?",
            url=landed["url"],
            choices=["the text", "a picture"],
            deadline=PATIENCE,
        )
        print(f"asked: open {URL}/view and answer")

        answered = sandbox.get(f"/v1/handoffs/{request['id']}", params={"wait": PATIENCE}).raise_for_status().json()["data"]
        print("outcome:", answered["outcome"], answered["choice"] or "", answered["note"])
        if answered["outcome"] != "done":
            return

        if answered["choice"] == "a picture":
            picture = sandbox.get("/v1/browser/page/screenshot").raise_for_status().content
            print("saved a picture of", len(picture), "bytes")
        else:
            text = sandbox.get("/v1/browser/page/text").raise_for_status().json()["data"]
            print("saved the text:", text.strip().splitlines()[0])


main()
