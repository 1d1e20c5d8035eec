"""The viewer's end, which is told what to do and watch by lines of JSON."""

import json
from typing import Any

from benchmarks.stream.stage import Stage
from benchmarks.stream.talk import Talk

ANSWER_SECONDS = 60.0
CLICK_SECONDS = 3.0
"""What one click takes at most."""


class Viewer:
    """`watch.py`, in the viewer's container."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._talk = self._start()

    def _start(self) -> Talk:
        env = ["--env", "PYTHONPATH=/opt/venv/lib/python3.13/site-packages", "--env", "PYTHONDONTWRITEBYTECODE=1"]
        words = [self.stage.engine, "exec", "--interactive", *env, f"{self.stage.name}-client", "/usr/bin/python3", "/bench/watch.py"]
        return Talk(words)

    def do(self, what: str, **more: Any) -> dict[str, Any]:
        """Tell it what to do, and what came of it. Raises RuntimeError if it does not answer in time."""
        seconds = ANSWER_SECONDS + more.get("seconds", 0.0) + more.get("times", 0) * CLICK_SECONDS
        answer: dict[str, Any] = json.loads(self._talk.ask(json.dumps({"do": what} | more), seconds))
        return answer

    def truth(self, pixels: bytes) -> None:
        """Give it what is on the desktop's screen, to compare with."""
        self.stage.give("client", "/tmp/truth", pixels)

    def again(self) -> None:
        """Start it anew, with all that it started, after something went wrong."""
        self._talk.end()
        self.stage.sweep("client")
        self._talk = self._start()
