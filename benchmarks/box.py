"""A container of the image that is measured, for the length of one benchmark. Standard library only, from Python 3.11 on."""

import http.client
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
IMAGE = os.environ.get("IMAGE", "tandem")
START_SECONDS = 60.0


def find_engine() -> str:
    """The container engine that `make run` uses."""
    return subprocess.run([ROOT / "scripts" / "engine"], capture_output=True, text=True, check=True).stdout.strip()


@dataclass
class Box:
    """A running container, with one connection to its gateway that is kept open."""

    engine: str
    name: str
    key: str
    image: str = IMAGE
    port: int = 0
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    def start(self, *more: str) -> None:
        """Start it as `make run` does, bound to a free port of this machine's own; `more` goes to the engine."""
        profile = ROOT / "deploy" / "seccomp" / "tandem.json"
        options = ["--detach", "--name", self.name, "--publish", "127.0.0.1::8080", "--env", f"SANDBOX_API_KEY={self.key}"]
        options += ["--security-opt", f"seccomp={profile}", "--security-opt", "systempaths=unconfined", "--cap-drop", "NET_RAW"]
        self.run("run", *options, "--pids-limit", "4096", "--shm-size", "1g", *more, self.image)
        self.port = int(self.run("port", self.name, "8080/tcp").splitlines()[0].rpartition(":")[2])

    def run(self, *words: str) -> str:
        """What the engine says to a command."""
        return subprocess.run([self.engine, *words], capture_output=True, text=True, check=True).stdout

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Call the API as one client does, and give the JSON that it answers. Raises RuntimeError if that is no success."""
        return json.loads(self.fetch(verb, path, body))

    def fetch(self, verb: str, path: str, body: Any = None) -> bytes:
        """Call the API, and give the bytes that it answers. Raises RuntimeError if that is no success."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        self._connection.request(verb, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{verb} {path}: {response.status} {answer[:200]!r}")
        return answer

    def wait(self, path: str, interval: float = 0.05, body: Any = None) -> None:
        """Return once a GET, or a POST where there is a body, is answered well."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.call("POST" if body else "GET", path, body)
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} was not answered within {START_SECONDS:g} s: {error}") from error
                self._connection = None
                time.sleep(interval)
            else:
                return

    def remove(self) -> None:
        """Remove it with all it holds."""
        subprocess.run([self.engine, "rm", "--force", "--volumes", self.name], capture_output=True, check=False)


def new_box(engine: str, image: str = IMAGE) -> Box:
    """A container that is not started yet."""
    return Box(engine, f"tandem-bench-{secrets.token_hex(4)}", secrets.token_urlsafe(16), image)


@contextmanager
def running(*options: str) -> Iterator[Box]:
    """A container with every component ready; `options` go to the engine."""
    box = new_box(find_engine())
    try:
        box.start(*options)
        box.wait("/readyz")
        yield box
    finally:
        box.remove()


def timed(work: Any) -> float:
    """Milliseconds that a call took."""
    before = time.perf_counter()
    work()
    return (time.perf_counter() - before) * 1000


def bare_bash() -> None:
    """What the machine needs for `bash -c true` alone."""
    subprocess.run(["bash", "-c", "true"], check=True)


def p50(samples: Sequence[float]) -> float:
    """The median."""
    return round(statistics.median(samples), 2)


def p99(samples: Sequence[float]) -> float:
    """The value that one in a hundred is above."""
    return round(statistics.quantiles(samples, n=100)[98], 2)


def report(results: dict[str, dict[str, float]]) -> None:
    """Write a table for people, then one line of JSON for programs."""
    names = list(dict.fromkeys(name for row in results.values() for name in row))
    width = max(map(len, results))
    sys.stdout.write(f"{'':{width}}  {'  '.join(f'{name:>14}' for name in names)}\n")
    for operation, row in results.items():
        cells = "  ".join(f"{row.get(name, ''):>14}" for name in names)
        sys.stdout.write(f"{operation:{width}}  {cells}\n")
    sys.stdout.write(f"{json.dumps(results)}\n")
