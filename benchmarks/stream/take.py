#!/usr/bin/env python3
"""What the controller's policy costs and gains: the stream's processor time by who watches, and how long a take and a late start last.

Usage: benchmarks/stream/take.py [ROUNDS]. IMAGE names the image (tandem); its tests' image is the viewer. The last line is one JSON object.
"""

import json
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from box import IMAGE, Box, find_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROUNDS = 20
CPU_SECONDS = 30
STREAM_TICKS = "awk '{print $14 + $15}' /proc/$(pgrep -of 'sandbox_server stream')/stat"
"""Hundredths of a second that the process has run."""
READY_SECONDS = 90
BUSY = """<body style="margin:0;font:14px sans-serif;columns:3"><script>
for (let at = 0; at < 4; at++) {
  const small = new OffscreenCanvas(24, 18), c = small.getContext("2d");
  for (let x = 0; x < 24; x++) for (let y = 0; y < 18; y++) {
    c.fillStyle = `rgb(${(x * 9 + at * 40) % 256},${(y * 13 + x * 3) % 256},${(x * y * 5 + at * 90) % 256})`; c.fillRect(x, y, 1, 1);
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [400, 240];
  const large = canvas.getContext("2d");
  large.drawImage(small, 0, 0, 400, 240);
  document.body.append(canvas);
  const text = document.createElement("p");
  let seed = at + 1;
  text.textContent = Array.from({length: 330}, () => "etaoinshrdlucmfw".repeat(2)
    .slice((seed = seed * 48271 % 2147483647) % 16).slice(0, 2 + seed % 8)).join(" ");
  document.body.append(text);
}</script>"""
"""Three columns of text with four pictures like photographs, as a page of news has them."""


@contextmanager
def standing() -> "Iterator[tuple[Box, str]]":
    """The product, and beside it a container with the Python client in the same network."""
    box = Box(find_engine(), f"bench-{secrets.token_hex(4)}", secrets.token_hex(16))
    viewer = f"{box.name}-viewer"
    try:
        box.start("--volume", f"{HERE}:/bench:ro")
        wait_until_ready(box)
        box.run(
            "run",
            "--detach",
            "--name",
            viewer,
            "--network",
            f"container:{box.name}",
            "--volume",
            f"{HERE}:/bench:ro",
            f"{IMAGE}:test",
            "sleep",
            "infinity",
        )
        yield box, viewer
    finally:
        for name in (viewer, box.name):
            subprocess.run([box.engine, "rm", "--force", "--volumes", name], capture_output=True, check=False)


def wait_until_ready(box: Box) -> None:
    """Wait until every component serves."""
    start = time.monotonic()
    while True:
        try:
            box.fetch("GET", "/readyz")
            return
        except (OSError, RuntimeError):
            if time.monotonic() > start + READY_SECONDS:
                raise
            box._connection = None
            time.sleep(0.2)


@contextmanager
def film(box: Box, seconds: float) -> "Iterator[None]":
    """A film of 30 pictures a second on the desktop, as a program of the agent's shows one."""
    env = ["--env", "XAUTHORITY=/run/sandbox-desktop/authority", "--user", "control"]
    words = [box.engine, "exec", *env, box.name, "/opt/venv/bin/python", "/bench/source.py", "film", str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as source:
        assert source.stdout
        source.stdout.readline()
        yield
        box.run("exec", box.name, "pkill", "-f", "/bench/source.py")


def cores(box: Box, seconds: float) -> float:
    """Part of a core that the process of the stream takes."""
    before, start = ticks(box), time.monotonic()
    time.sleep(seconds)
    return (ticks(box) - before) / 100 / (time.monotonic() - start)


def ticks(box: Box) -> int:
    """Hundredths of a second of processor time that the process has taken."""
    return int(box.run("exec", box.name, "sh", "-c", STREAM_TICKS))


def viewer(box: Box, name: str, do: str, *words: object) -> "subprocess.Popen[str]":
    """Start the viewer's side, `take_viewer.py`, on something."""
    argv = [box.engine, "exec", "--interactive", "--env", f"KEY={box.key}", name, "/opt/venv/bin/python", "/bench/take_viewer.py", do]
    return subprocess.Popen([*argv, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def watched(box: Box, name: str, *, drives: bool) -> "Iterator[None]":
    """While a person watches, or drives."""
    with viewer(box, name, "watch", int(drives)) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        yield
        process.stdin.close()


def said(process: "subprocess.Popen[str]") -> Any:
    """What the viewer's side found out."""
    found, _ = process.communicate()
    return json.loads(found.splitlines()[-1])


def measure(box: Box, name: str, rounds: int) -> dict[str, Any]:
    """Everything, one after the other."""
    found: dict[str, Any] = {}
    with film(box, 600):
        found["cores, nobody watches"] = cores(box, CPU_SECONDS)
        with watched(box, name, drives=False):
            found["cores, the agent drives and a person watches"] = cores(box, CPU_SECONDS)
        with watched(box, name, drives=True):
            found["cores, a person drives"] = cores(box, CPU_SECONDS)
        found |= said(viewer(box, name, "take", rounds))
    box.call(
        "POST", "/v1/browser/page/navigate", {"url": f"data:text/html,{BUSY.replace(chr(10), ' ').replace('#', '%23').replace('%', '%25')}"}
    )
    time.sleep(3)
    return found | said(viewer(box, name, "join", rounds // 4))


def main() -> None:
    """Measure, and say what was found, with the load of the machine."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with standing() as (box, name):
        found = measure(box, name, rounds)
    found["load"] = float(Path("/proc/loadavg").read_text("ascii").split()[0])
    for metric, value in found.items():
        sys.stdout.write(f"{metric:48} {value}\n")
    sys.stdout.write(json.dumps(found) + "\n")


main()
