"""The desktop that is shown: what is drawn on it, what is on it, who drives it, and what serving it costs."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.stream.stage import AUTHORITY, Stage
from benchmarks.stream.ways import Way

SOURCE = "/bench/source.py"
API = "http://127.0.0.1:8080"


@dataclass
class Desktop:
    """The product's own display."""

    stage: Stage

    def _words(self, *words: str) -> list[str]:
        env = ["--env", f"XAUTHORITY={AUTHORITY}", "--env", "PYTHONDONTWRITEBYTECODE=1", "--user", "control"]
        return [self.stage.engine, "exec", *env, f"{self.stage.name}-product", "/opt/venv/bin/python", SOURCE, *words]

    @contextmanager
    def scene(self, kind: str, seconds: float = 3600) -> Iterator["subprocess.Popen[str]"]:
        """A scene, for as long as the context."""
        source = subprocess.Popen(self._words(kind, str(seconds)), stdout=subprocess.PIPE, text=True)
        assert source.stdout
        assert source.stdout.readline() == "ready\n"
        try:
            yield source
        finally:
            self.stage.inside("pkill", "-f", SOURCE, check=False)
            source.wait()

    def stop(self, source: "subprocess.Popen[str]") -> dict[str, float]:
        """Stop what moves in a scene, which stays to be seen, and say how it went."""
        self.stage.inside("pkill", "-USR1", "-f", SOURCE)
        assert source.stdout
        report: dict[str, float] = json.loads(source.stdout.readline())
        return report

    def grab(self) -> bytes:
        """What is on the screen: rows of blue, green, red and an unused byte."""
        return subprocess.run(self._words("grab", "0"), capture_output=True, check=True).stdout

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
