"""Learn of changes on disk as they happen."""

import os

import httpx

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
FOLDER = "/tmp/watched"

with httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}, timeout=60) as sandbox:
    sandbox.post("/v1/file/mkdir", json={"path": FOLDER})
    watcher = sandbox.post("/v1/file/watch", json={"path": FOLDER, "debounce": 50}).json()["watcher_id"]

    sandbox.post("/v1/bash/exec", json={"command": f"echo one >{FOLDER}/a.txt; mv {FOLDER}/a.txt {FOLDER}/b.txt"})

    cursor, seen = 0, ""
    while "b.txt" not in seen:
        answer = sandbox.post(f"/v1/file/watch/{watcher}/poll", json={"cursor": cursor, "timeout": 10}).json()
        cursor = answer["cursor"]
        for event in answer["events"]:
            seen = event["path"]
            print(event["type"], seen)

    sandbox.delete(f"/v1/file/watch/{watcher}")
