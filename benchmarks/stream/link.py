"""The link between server and viewer, what goes over it, and a flow that wants to have it for itself."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.stream.stage import Stage
from benchmarks.stream.ways import CLIENT, SERVER

FLOW_SECONDS = 1.0


@dataclass
class Link:
    """The link of a stage."""

    stage: Stage

    @contextmanager
    def up(self, delay: float, rate: float, loss: float) -> Iterator[None]:
        """A link of that kind, for as long as the context."""
        halves = []
        try:
            halves.append(self._half("server", SERVER, "client", delay, rate, loss))
            halves.append(self._half("client", CLIENT, "server", delay, 0, 0.0))
            yield
        finally:
            for half in halves:
                half.terminate()
                half.wait()
            for side in ("server", "client"):
                self.stage.kill(side, "/bench/net.py")

    def _half(self, side: str, address: str, other: str, *shape: float) -> "subprocess.Popen[str]":
        program = ["python3", "/bench/net.py", address, f"{self.stage.name}-{other}", *map(str, shape)]
        half = subprocess.Popen([self.stage.engine, "exec", f"{self.stage.name}-{side}", *program], stdout=subprocess.PIPE, text=True)
        assert half.stdout
        if half.stdout.readline() != "ready\n":
            raise RuntimeError("the link does not work: it needs /dev/net/tun")
        return half

    def bytes(self) -> int:
        """Bytes that the server's side has sent over the link."""
        return int(json.loads(self.stage.run("exec", f"{self.stage.name}-server", "cat", "/tmp/net.json"))["sent"])

    @contextmanager
    def flow(self, seconds: float) -> Iterator["subprocess.Popen[str]"]:
        """A TCP flow to the viewer's side, for as long as the context; it says how many bytes came in so many seconds."""
        engine, name = self.stage.engine, self.stage.name
        send = subprocess.Popen([engine, "exec", f"{name}-server", "python3", "/bench/flow.py", "send"])
        time.sleep(FLOW_SECONDS)
        words = [engine, "exec", f"{name}-client", "python3", "/bench/flow.py", "take", SERVER, str(seconds)]
        taken = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            yield taken
        finally:
            for side in ("server", "client"):
                self.stage.kill(side, "/bench/flow.py")
            send.wait()
            taken.wait()
