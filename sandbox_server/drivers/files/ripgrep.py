"""Search with ripgrep, run as the agent. Its JSON is parsed as it arrives, so memory does not grow with the matches."""

import asyncio
import base64
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.files.name_encoding import from_wire, to_wire
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader
from sandbox_server.drivers.spawn.process import Process, Processes, User, put_down

MAX_LINE = 4096
"""Limit of characters of a line around a match."""
MAX_KEPT = 16 << 20
"""Limit of characters of all matches together."""
MAX_EVENT = 64 << 20
"""Limit in bytes of one line of ripgrep's JSON."""
_STDERR = 8 << 10
_ALWAYS = ("rg", "--json", "--no-config", "--engine=auto", "--sort=path")


@dataclass(slots=True)
class RipgrepMatch:
    """One matching line, or several for a pattern that spans lines."""

    file: str
    line: int
    """Number of its first line, from 1."""
    text: str
    """Without the newline at its end."""
    cut: bool
    """Whether the text is shortened."""
    before: list[str]
    after: list[str]


@dataclass(slots=True)
class RipgrepResult:
    """The result of a search. `total` counts every match, also beyond `limit`; a lower bound if `ended` is false."""

    matches: list[RipgrepMatch] = field(default_factory=list)
    total: int = 0
    files_searched: int | None = None
    files_matched: int | None = None
    ended: bool = False
    problem: str | None = None
    """Why a part could not be searched, in ripgrep's words."""


type Wanted = Callable[[str], bool]
"""Whether a file, given its absolute path, is included."""


class Collector:
    """Parses ripgrep's JSON and keeps matches in included files: from `offset` on, at most `limit`, with context."""

    def __init__(self, *, before: int = 0, after: int = 0, offset: int = 0, limit: int, wanted: Wanted = lambda _: True) -> None:
        self.found = RipgrepResult()
        self.full = False
        self._before = before
        self._after = after
        self._offset = offset
        self._limit = limit
        self._wanted = wanted
        self._skipped = False
        self._files = 0
        self._rest = bytearray()
        self._lines: dict[int, str] = {}
        self._of_file: list[tuple[RipgrepMatch, int]] = []
        self._kept = 0

    def take(self, chunk: bytes) -> None:
        """Parse more output."""
        self._rest += chunk
        if b"\n" not in chunk:
            self.full |= len(self._rest) > MAX_EVENT
            return
        *events, self._rest = self._rest.split(b"\n")
        for event in events:
            if event and not self.full:
                self._read(event)

    def _read(self, event: bytearray) -> None:
        if event.startswith(b'{"type":"match"') and not self._in_page():
            self.found.total += not self._skipped
            return
        value = json.loads(event)
        kind, content = value["type"], value["data"]
        if kind == "begin":
            self._begin(_name(content["path"]))
        elif kind == "match" and not self._skipped:
            self._match(content)
        elif kind == "context" and not self._skipped:
            self._remember(content["line_number"], _text(content["lines"]))
        elif kind == "end":
            self._end_of_file()
        elif kind == "summary":
            self.found.files_searched, self.found.files_matched = content["stats"]["searches"], self._files
            self.found.ended = True

    def _in_page(self) -> bool:
        return not self._skipped and self._offset <= self.found.total < self._offset + self._limit

    def _begin(self, path: str) -> None:
        self._skipped = not self._wanted(path)
        self._files += not self._skipped

    def _match(self, content: dict[str, Any]) -> None:
        self.found.total += 1
        text = _text(content["lines"]).removesuffix("\n").removesuffix("\r")
        number = content["line_number"] or 1
        shown, cut = _around(text, content["submatches"])
        match = RipgrepMatch(_name(content["path"]), number, shown, cut, [], [])
        self.found.matches.append(match)
        self._kept += len(shown)
        self.full |= self._kept > MAX_KEPT
        if self._before or self._after:
            lines = text.split("\n")
            for at, line in enumerate(lines):
                self._remember(number + at, line)
            self._of_file.append((match, number + len(lines)))

    def _remember(self, number: int, text: str) -> None:
        self._lines[number] = text.removesuffix("\n").removesuffix("\r")[:MAX_LINE]

    def _end_of_file(self) -> None:
        for match, end in self._of_file:
            match.before = self._between(match.line - self._before, match.line)
            match.after = self._between(end, end + self._after)
            self._kept += sum(map(len, match.before + match.after))
        self._lines, self._of_file = {}, []

    def _between(self, start: int, stop: int) -> list[str]:
        return [self._lines[number] for number in range(start, stop) if number in self._lines]


class Ripgrep:
    """Runs searches."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def search(
        self, options: Sequence[str], path: str, into: Collector, *, cwd: str = "/", user: User = "agent", timeout: float
    ) -> RipgrepResult:
        """Search `path` with ripgrep's `options` and return what `into` collected, which is a part after a timeout.

        Globs among the options are for paths below `cwd`.

        Raises InvalidArgument with ripgrep's message for an invalid pattern or option.
        """
        complaints, full = Capture(_STDERR), asyncio.Event()

        def take(chunk: bytes) -> None:
            into.take(chunk)
            if into.full:
                full.set()

        with PipeReader(take) as stdout, PipeReader(complaints.take) as stderr:
            process = await self._processes.start(
                [*_ALWAYS, *options, "--", from_wire(path)], user=user, cwd=from_wire(cwd), stdout=stdout.theirs, stderr=stderr.theirs
            )
            stdout.release()
            stderr.release()
            await _wait_or_kill(process, full, timeout)
            await stdout.settle()
            await stderr.settle()
        if process.exit is not None and process.exit.code == 2:
            into.found.problem = _error_text(complaints.bytes())
            if not into.found.ended:
                raise InvalidArgument(into.found.problem)
        return into.found


async def _wait_or_kill(process: Process, full: asyncio.Event, timeout: float) -> None:
    """Wait for the end. Kill the process after `timeout`, or when no further match can be kept."""
    waiting = {start_task(process.wait()), start_task(full.wait())}
    try:
        await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await put_down(process)


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")


def _name(value: dict[str, str]) -> str:
    return value["text"] if "text" in value else to_wire(os.fsdecode(base64.b64decode(value["bytes"])))


def _around(text: str, submatches: list[dict[str, Any]]) -> tuple[str, bool]:
    if len(text) <= MAX_LINE:
        return text, False
    first = len(text.encode()[: submatches[0]["start"]].decode("utf-8", "ignore")) if submatches else 0
    start = max(0, min(first - MAX_LINE // 4, len(text) - MAX_LINE))
    return text[start : start + MAX_LINE], True


def _error_text(complaint: bytes) -> str:
    text = complaint.decode("utf-8", "replace").strip()
    return text.removeprefix("rg: ") or "ripgrep could not search"
