"""Attribution of resource use to sessions: what their processes in the box use, and what those used that have just ended.

A process belongs to the session that its environment names (`child.SESSION`), or that another process of its kernel session names: so
does what was orphaned or is a zombie. A program may hide from that by leaving both; it is then told by its number alone.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandbox_server.drivers.box.processes import command_line, read_start, status_of
from sandbox_server.drivers.spawn.child_setup import SESSION

RECENT_SECONDS = 5.0
"""For so long a command that has ended may be what a limit was met by."""
MAX_ENDED = 64
MAX_ENVIRONMENT = 256 << 10
"""Bytes of a process's environment that are looked at."""
LARGE_BYTES = 64 << 20
"""From here on a process is remembered when it is gone: the kernel may have ended it for its memory."""
_LEAST = {"threads": 16, "memory": LARGE_BYTES, "descriptors": 1024, "written": 1 << 20, "system": 0.05}
"""Who uses less is not to blame."""
_CIRCUMSTANTIAL = ("system",)
"""What tells little of what was done with it: a session is suspected of it before what no session started, such as the desktop."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MARK = SESSION.encode() + b"="


@dataclass(frozen=True)
class ProcessUse:
    """What a process uses, or used: bytes of memory, bytes written to whatever it was, and seconds of the kernel's time for it."""

    threads: int = 1
    memory: int = 0
    descriptors: int = 0
    written: int = 0
    system: float = 0.0


@dataclass(frozen=True)
class AttributedProcess:
    """Who it was: `session` is None for what no session started, `pid` as the box knows it."""

    session: str | None
    command: str
    pid: int
    uid: int


@dataclass(frozen=True)
class _Process:
    outer: int
    pid: int
    uid: int
    kernel_session: str
    session: str | None
    use: ProcessUse


@dataclass(frozen=True)
class EndedProcess:
    """A process that is gone."""

    culprit: AttributedProcess
    use: ProcessUse
    killed: bool
    """By a signal that nobody outside the box had sent."""
    at: float = field(default_factory=time.monotonic)


class UsageAttribution:
    """Looks at the processes of the box, and remembers who has just ended."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[int, float]] = {}
        self._processes: list[_Process] = []
        self._ended: list[EndedProcess] = []
        self._large: dict[int, EndedProcess] = {}

    def note(self, ended: EndedProcess) -> None:
        """Remember a command that has ended."""
        self._ended = [*self._ended, ended][-MAX_ENDED:]

    def forget(self) -> None:
        """Forget those that have ended: they were of another box."""
        self._ended, self._large = [], {}

    def look(self) -> None:
        """Look at every process: some thirty microseconds each.

        What it wrote and the kernel's time are counted from one look to the next.
        """
        before, self._counts = self._counts, {}
        self._processes = list(self._read(before))
        large, self._large = self._large, {one.outer: self._as_ended(one) for one in self._processes if one.use.memory >= LARGE_BYTES}
        for pid in large.keys() - self._large.keys():
            self.note(replace(large[pid], at=time.monotonic()))

    def _as_ended(self, one: _Process) -> "EndedProcess":
        return EndedProcess(AttributedProcess(self._named(one), command_line(one.outer), one.pid, one.uid), one.use, killed=False)

    def _read(self, before: Mapping[int, tuple[int, float]]) -> Iterator[_Process]:
        for name in filter(str.isdigit, os.listdir("/proc")):
            pid = int(name)
            status = status_of(pid)
            numbers = status.get("NSpid", [])
            if len(numbers) < 2 or numbers[1] == "1":
                continue
            written, system = self._counts[pid] = bytes_written(pid), _system_time(pid)
            earlier = before.get(pid, (0, 0.0))
            use = ProcessUse(
                threads=int(status["Threads"][0]),
                memory=sum(int(status.get(kind, ["0"])[0]) for kind in ("RssAnon", "RssShmem")) << 10,
                descriptors=int(status.get("FDSize", ["0"])[0]),
                written=written - earlier[0],
                system=system - earlier[1],
            )
            yield _Process(pid, int(numbers[1]), int(status["Uid"][0]), status["NSsid"][1], session_of(pid), use)

    @property
    def total(self) -> ProcessUse:
        """What all processes use together, at the last look; of descriptors, the most that one has."""
        uses = [one.use for one in self._processes]
        return ProcessUse(
            sum(use.threads for use in uses), sum(use.memory for use in uses), max((use.descriptors for use in uses), default=0)
        )

    def worst(self, what: str) -> AttributedProcess | None:
        """The session that uses most of `what`, a field of `ProcessUse`, and its process that does; None where nobody uses much."""

        def used(one: _Process | EndedProcess) -> float:
            return float(getattr(one.use, what))

        groups = self._groups()
        if what in _CIRCUMSTANTIAL:
            groups = [group for group in groups if self._named(group[0]) and sum(map(used, group)) >= _LEAST[what]] or groups
        group = max(groups, key=lambda group: sum(map(used, group)), default=[])
        most = sum(map(used, group))
        gone = max(self._recent(), key=used, default=None)
        if gone and used(gone) >= max(most, _LEAST[what]):
            return gone.culprit
        if most < _LEAST[what]:
            return None
        commands = {one.outer: command_line(one.outer) for one in group}
        often = Counter(filter(None, commands.values()))  # a zombie has none
        top = max(group, key=lambda one: (used(one), often[commands[one.outer]], -one.outer))
        command = commands[top.outer] or next(iter(often), "")
        return AttributedProcess(self._named(top), command, top.pid, top.uid)

    def end_largest(self) -> str:
        """Kill the process that has most memory; gives its command line."""
        largest = max(self._processes, key=lambda one: one.use.memory)
        command = command_line(largest.outer)
        with suppress(ProcessLookupError):
            os.kill(largest.outer, signal.SIGKILL)
        return command

    def killed(self) -> list[EndedProcess]:
        """Those that have just been killed by somebody in the box; forgotten with this."""
        found = [one for one in self._recent() if one.killed]
        self._ended = [one for one in self._ended if not one.killed]
        return found

    def _recent(self) -> list[EndedProcess]:
        return [one for one in self._ended if time.monotonic() - one.at < RECENT_SECONDS]

    def _named(self, process: _Process) -> str | None:
        return process.session or next(
            (one.session for one in self._processes if one.session and one.kernel_session == process.kernel_session), None
        )

    def _groups(self) -> list[list[_Process]]:
        names = {one.kernel_session: one.session for one in self._processes if one.session}
        groups: dict[str, list[_Process]] = {}
        for one in self._processes:
            groups.setdefault(one.session or names.get(one.kernel_session) or f"process {one.kernel_session}", []).append(one)
        return list(groups.values())


def session_of(pid: int) -> str | None:
    """Return the session that the environment of a process names; None if it names none or cannot be read."""
    try:
        words = read_start(f"/proc/{pid}/environ", MAX_ENVIRONMENT).split(b"\0")
    except OSError:
        return None
    return next((word.removeprefix(_MARK).decode("utf-8", "replace")[:200] for word in words if word.startswith(_MARK)), None)


def bytes_written(pid: int) -> int:
    """What a process, and the children that it has waited for, gave to write(2) and its like (proc_pid_io(5)); 0 where that is not told."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("wchar:")), 0)


def _system_time(pid: int) -> float:
    """Seconds that the kernel has spent for a process, and for the children that it has waited for (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[12]) + int(fields[14])) / _TICKS
