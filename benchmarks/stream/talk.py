"""A program in a container that answers lines on its standard input with lines."""

import os
import select
import subprocess
import time
from collections.abc import Sequence

CHUNK = 1 << 20


class Talk:
    """Such a program, which is not waited for without end."""

    def __init__(self, words: Sequence[str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._got = bytearray()

    def ask(self, line: str, seconds: float) -> str:
        """Say a line, and give the next that is answered. Raises RuntimeError if none comes in so many seconds."""
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
        except BrokenPipeError:
            raise RuntimeError(f"what was to {line} has ended") from None
        return self.hear(seconds)

    def hear(self, seconds: float) -> str:
        """The next line that is answered. Raises RuntimeError if none comes in so many seconds."""
        deadline = time.monotonic() + seconds
        while (end := self._got.find(b"\n")) < 0:
            self._fill(deadline)
        return self._taken(end + 1).decode().rstrip()

    def read(self, size: int, seconds: float) -> bytes:
        """The next bytes that are answered. Raises RuntimeError if they do not come in so many seconds."""
        deadline = time.monotonic() + seconds
        while len(self._got) < size:
            self._fill(deadline)
        return self._taken(size)

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._got[:size])
        del self._got[:size]
        return taken

    def _fill(self, deadline: float) -> None:
        assert self._process.stdout
        ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        more = os.read(self._process.stdout.fileno(), CHUNK) if ready else b""
        if not more:
            raise RuntimeError("no answer: it has ended" if ready else "no answer in time")
        self._got += more

    def end(self) -> None:
        """Say that there are no more lines."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
