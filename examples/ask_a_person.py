"""Open a page, ask a person what to do there, and go on with the answer. No model is needed: the script is the agent."""

import os

from tandem import Sandbox

PAGE = os.environ.get("PAGE", "https://example.org")
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds that a person has to answer."""

with Sandbox(patience=PATIENCE) as sandbox:  # while a person drives, calls wait for their turn
    landed = sandbox.page.goto(PAGE)
    print("opened", landed.url)
    print(f"asked: open {sandbox.url}/view and answer")

    choices = ["the text", "a picture"]
    answer = sandbox.ask("Which part of this page shall I save?", kind="choice", choices=choices, url=landed.url, timeout=PATIENCE)
    print("outcome:", answer.outcome, answer.choice or "", answer.note)

    if answer.choice == "a picture":
        print("saved a picture of", len(sandbox.page.screenshot()), "bytes")
    elif answer.outcome == "done":
        print("saved the text:", sandbox.page.text().strip().splitlines()[0])
