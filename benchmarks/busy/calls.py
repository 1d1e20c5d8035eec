"""A client of the API, in the container that stands for another machine: `calls.py KEY WHAT [TIMES|COMMAND]`, standard library only.

It prints one line of JSON: for `exec`, `shell`, `take` and `ask` the milliseconds of each call, for `start` and `free` nothing.
"""

import http.client
import json
import sys
import time
from collections.abc import Callable
from typing import Any

PORT = 8080
PAUSE_SECONDS = 0.02


class Client:
    """One kept connection to the gateway."""

    def __init__(self, host: str, key: str) -> None:
        self._host = host
        self._connection = http.client.HTTPConnection(host, PORT, timeout=60)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def call(self, verb: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Any:
        """Call, and give what was answered. Raises RuntimeError if that is no success."""
        self._connection.request(verb, path, None if body is None else json.dumps(body), headers or self.headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{verb} {path}: {answer.status} {content[:200]!r}")
        return json.loads(content)

    def sign_in(self) -> dict[str, str]:
        """The headers of a person's browser."""
        ticket = self.call("POST", "/tickets", {})["ticket"]
        self._connection.request("GET", f"/stream/?ticket={ticket}", headers={"Accept": "text/html"})
        answer = self._connection.getresponse()
        answer.read()
        cookie = (answer.headers["set-cookie"] or "").partition(";")[0]
        return {"Cookie": cookie, "Origin": f"http://{self._host}:{PORT}", "Content-Type": "application/json"}


def timed(work: Callable[[], object], times: int, after: Callable[[], object] = lambda: None) -> list[float]:
    """Milliseconds of each of so many calls; `after` is not counted."""
    found = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        found.append((time.perf_counter() - before) * 1000)
        after()
        time.sleep(PAUSE_SECONDS)
    return found


def main() -> None:
    """Do what the command line says."""
    host, key, what, argument = (*sys.argv[1:4], sys.argv[4] if len(sys.argv) > 4 else "1")
    client = Client(host, key)
    found: list[float] = []
    if what == "start":
        client.call("POST", "/v1/bash/exec", {"command": argument, "async_mode": True})
    elif what in ("take", "free"):
        person = client.sign_in()
        found = timed(
            lambda: client.call("POST", "/v1/control/take", {}, person),
            int(argument),
            lambda: client.call("POST", "/v1/control/release", {}, person),
        )
    else:
        work: dict[str, Callable[[], object]] = {
            "exec": lambda: client.call("POST", "/v1/bash/exec", {"command": "true"}),
            "shell": lambda: client.call("POST", "/v1/shell/exec", {"id": "busy", "command": "true"}),
            "ask": lambda: client.call("GET", "/v1/capabilities"),
        }
        work[what]()
        found = timed(work[what], int(argument))
    sys.stdout.write(json.dumps(found) + "\n")


main()
