"""The agent of the film: a script with a key that acts on the screen, as a model with computer use does."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

KEYS_PER_SECOND = 22
PATIENCE = 120.0


class Agent:
    """One program with its key."""

    def __init__(self, base_url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=2 * PATIENCE, trust_env=False)

    def call(self, path: str, **fields: Any) -> Any:
        """Call an operation, and give its data."""
        answer = self._http.post(path, json=fields, params={"wait": PATIENCE} if path.startswith("/v1/browser") else {})
        answer.raise_for_status()
        return answer.json().get("data", answer.json())

    def open(self, url: str) -> None:
        """Load a page."""
        self.call("/v1/browser/page/navigate", url=url)

    def point(self, name: str) -> None:
        """Move the pointer to an element, by its name on the screen, and click it."""
        x, y = self._find(name)
        self._act({"action_type": "MOVE_TO", "x": x, "y": y})
        time.sleep(0.25)
        self._act({"action_type": "CLICK", "x": x, "y": y})

    def type(self, name: str, text: str) -> None:
        """Click a field and type into it."""
        self.point(name)
        for character in text:
            self._act({"action_type": "TYPING", "text": character})
            time.sleep(1 / KEYS_PER_SECOND)

    def invite(self) -> str:
        """Give the ticket by which a person signs in."""
        answer = self._http.post("/tickets", json={"path_prefix": "/", "actor": "person"})
        answer.raise_for_status()
        return str(answer.json()["ticket"])

    @contextmanager
    def asking(self, **request: Any) -> Iterator[None]:
        """Ask a person, and have the answer at the end."""
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(self.call("/v1/handoffs", wait=PATIENCE, **request)))
        thread.start()
        yield
        thread.join(PATIENCE)
        assert answers, "nobody answered"
        assert answers[0]["outcome"] == "done", answers[0]

    def _find(self, name: str) -> tuple[int, int]:
        answer = self._http.get("/v1/screen/elements", params={"wait": PATIENCE})
        answer.raise_for_status()
        found = next(element for element in answer.json()["data"]["elements"] if element["name"] == name)
        return round(found["x"] + found["width"] / 2), round(found["y"] + found["height"] / 2)

    def _act(self, action: dict[str, Any]) -> None:
        self.call("/v1/browser/actions", **action)
