"""The desktop that is shown: what is drawn on it, what is on it, who drives it, and what serving it costs."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.stream.stage import AUTHORITY, Stage
from benchmarks.stream.talk import Talk
from benchmarks.stream.ways import Way

SOURCE = "/bench/source.py"
API = "http://127.0.0.1:8080"
SOURCE_SECONDS = 30.0
"""So long may it take until a scene is drawn."""


class Desktop:
    """The product's own display."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._source: Talk | None = None
        self._moves = False

    @contextmanager
    def scene(self, kind: str) -> Iterator[None]:
        """A scene, for as long as the context, and then what is left of it."""
        if not self._source:
            env = ["--interactive", "--env", f"XAUTHORITY={AUTHORITY}", "--env", "PYTHONDONTWRITEBYTECODE=1", "--user", "control"]
            self._source = Talk([self.stage.engine, "exec", *env, f"{self.stage.name}-product", "/opt/venv/bin/python", SOURCE])
        if self._source.ask(kind, SOURCE_SECONDS) != "ready":
            raise RuntimeError(f"{kind} is not drawn")
        self._moves = True
        yield
        self.stop()

    def stop(self) -> dict[str, float]:
        """Stop what moves in a scene, which stays to be seen, and say how it went, unless that was done before."""
        if not self._moves:
            return {}
        assert self._source
        self._moves = False
        report: dict[str, float] = json.loads(self._source.ask("stop", SOURCE_SECONDS))
        return report

    def grab(self) -> bytes:
        """What is on the screen: rows of blue, green, red and an unused byte."""
        assert self._source
        return self._source.read(int(self._source.ask("grab", SOURCE_SECONDS)), SOURCE_SECONDS)

    def close(self) -> None:
        """Draw nothing any more, until there is another scene."""
        if self._source:
            self._source.end()
            self.stage.inside("pkill", "-KILL", "-f", SOURCE, check=False)
        self._source, self._moves = None, False

    def ticket(self) -> str:
        """A ticket for a viewer's page."""
        words = ["curl", "-fsS", "-X", "POST", "-H", f"Authorization: Bearer {self.stage.key}", "-H", "Content-Type: application/json"]
        ticket: str = json.loads(self.stage.inside(*words, "-d", "{}", f"{API}/tickets").stdout)["ticket"]
        return ticket

    def drives(self) -> bool:
        """Whether a person has control."""
        words = ["curl", "-fsS", "-H", f"Authorization: Bearer {self.stage.key}", f"{API}/v1/control"]
        found = json.loads(self.stage.inside(*words).stdout)["data"]
        return found["state"] == "human" and (found["returning"] or {}).get("reason") in (None, "idle")

    def seconds(self, way: Way) -> float:
        """Processor seconds that what serves a way of showing has used."""
        script = 'for p in "$@"; do for i in $(pgrep -f "$p"); do cat /proc/$i/stat; done; done'
        where = f"{self.stage.name}-{'peers' if way.peer else 'product'}"
        found = subprocess.run(
            [self.stage.engine, "exec", where, "sh", "-c", script, "sh", *way.programs], capture_output=True, text=True, check=False
        )
        stats = [line for line in found.stdout.splitlines() if "(sh)" not in line]
        return sum(sum(map(int, line.rpartition(")")[2].split()[11:13])) for line in stats) / os.sysconf("SC_CLK_TCK")
