"""The viewer's end, which is told what to do and watch by lines of JSON."""

import json
import subprocess
from dataclasses import dataclass, field
from typing import Any

from benchmarks.stream.stage import Stage


@dataclass
class Viewer:
    """`watch.py`, in the viewer's container."""

    stage: Stage
    _process: "subprocess.Popen[str]" = field(init=False)

    def __post_init__(self) -> None:
        env = ["--env", "PYTHONPATH=/opt/venv/lib/python3.13/site-packages", "--env", "PYTHONDONTWRITEBYTECODE=1"]
        words = [self.stage.engine, "exec", "--interactive", *env, f"{self.stage.name}-client", "/usr/bin/python3", "/bench/watch.py"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, what: str, **more: Any) -> dict[str, Any]:
        """Tell it what to do, and what came of it. Raises RuntimeError once it has ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": what} | more) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the viewer ended while told to {what}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def truth(self, pixels: bytes) -> None:
        """Give it what is on the desktop's screen, to compare with."""
        words = [self.stage.engine, "exec", "--interactive", f"{self.stage.name}-client", "sh", "-c", "cat >/tmp/truth"]
        subprocess.run(words, input=pixels, check=True)

    def end(self) -> None:
        """Tell it that nothing more is to be done."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
