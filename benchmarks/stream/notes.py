"""What a run has found so far, in a file of JSON lines, so that one that was interrupted goes on."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Step:
    """One way of showing over one link in one round."""

    number: int
    link: str
    way: str


class Notes:
    """A line for each step that was done: {step: {number, link, way}, figures: [[metric, way, figure], ...], load}."""

    def __init__(self, path: str, *, fresh: bool) -> None:
        """Go on with a file, or begin it afresh; without a name nothing is kept."""
        self._path = Path(path) if path else None
        self.before: list[dict[str, Any]] = []
        if self._path and fresh:
            self._path.write_text("", "utf-8")
        elif self._path:
            lines = self._path.read_text("utf-8").splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]
            self._path.write_text("".join(whole), "utf-8")
            self.before = [json.loads(line) for line in whole]
        self.done = {Step(**found["step"]) for found in self.before}

    def add(self, step: Step, found: dict[str, Any]) -> dict[str, Any]:
        """Note what a step has found, and give it back."""
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": asdict(step)} | found) + "\n")
        return found
