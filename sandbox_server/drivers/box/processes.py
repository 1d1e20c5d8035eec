"""The processes inside the box, seen and stopped from outside."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 2.0
"""How long a level of the process tree may take to stop; what waits for a dead disk takes for ever and is left alone."""
MOST_STOP_SECONDS = 10.0
"""How long all levels may take together; what is left then is stopped at once."""
_STOP_POLL_SECONDS = 0.0005
_SETTLE_ROUNDS = 3
_SETTLE_SECONDS = 0.002
_MOST_SETTLE_SECONDS = 1.0
_CHILD_CHANGED = 1 << (signal.SIGCHLD - 1)
_MAX_COMMAND = 200
_MAX_COMMAND_BYTES = 4096
_STOPPED = "T"
_ENDED = ("Z", "X")


@dataclass(frozen=True)
class Inmate:
    """One process of the box: `pid` and `parent` as the container sees them, `inner` as the box does.

    `unaware`: it has yet to hear that a child was stopped, goes on or has ended.
    """

    pid: int
    parent: int
    inner: int
    uid: int
    state: str
    name: str
    unaware: bool


def inmates() -> Iterator[Inmate]:
    """Every process of the box but its first, and those of namespaces made inside it."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _read(int(name))) and found.inner != 1:
            yield found


def status_of(pid: int) -> dict[str, list[str]]:
    """The words of each line of /proc/PID/status; nothing for a process that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").split("\n")  # a name may hold other line ends
    except OSError:
        return {}
    return {key: value.split() for key, _, value in (line.partition(":") for line in lines)}


def _read(pid: int) -> Inmate | None:
    status = status_of(pid)
    numbers = status.get("NSpid", [])  # in this namespace, then in those below it
    if len(numbers) < 2 or status["State"][0] in _ENDED:
        return None
    parent, uid, state = int(status["PPid"][0]), int(status["Uid"][0]), status["State"][0]
    unaware = bool(int(status["ShdPnd"][0], 16) & _CHILD_CHANGED)
    return Inmate(pid, parent, int(numbers[1]), uid, state, " ".join(status["Name"]), unaware)


def read_start(path: str, most: int) -> bytes:
    """Read the first bytes of what a process holds in its own memory: it may say that this is as large as all that it has."""
    with open(path, "rb", buffering=0) as file:
        parts = [part := file.read(most)]
        while part and (left := most - sum(map(len, parts))) > 0:
            parts.append(part := file.read(left))
    return b"".join(parts)


def command_line(pid: int) -> str:
    """What a process was started as; empty where it says nothing."""
    try:
        words = read_start(f"/proc/{pid}/cmdline", _MAX_COMMAND_BYTES).split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode("utf-8", "replace").strip()[:_MAX_COMMAND]


def freeze() -> set[int]:
    """Stop every process, and give those that somebody else had stopped before.

    Parents stop before their children: a shell that still runs would take a stopped child for a suspended job.
    """
    before = {one.pid for one in inmates() if one.state == _STOPPED}
    stopped: set[int] = set()
    deadline = time.monotonic() + MOST_STOP_SECONDS
    while level := _next_level(stopped, at_once=time.monotonic() > deadline):
        _signal(level, signal.SIGSTOP)
        _await_stop(level, deadline)
        stopped |= level
        if time.monotonic() > deadline + STOP_SECONDS:  # they come faster than they are stopped
            break
    return before


def _next_level(stopped: set[int], *, at_once: bool = False) -> set[int]:
    """The processes whose parent is stopped, or is not in the box; `at_once` all that are left."""
    waiting = {one.pid: one for one in inmates() if one.pid not in stopped}
    if at_once:
        return set(waiting)
    return {pid for pid, one in waiting.items() if one.parent not in waiting}


def _await_stop(pids: set[int], most: float) -> None:
    deadline = min(most, time.monotonic() + STOP_SECONDS)
    while time.monotonic() < deadline:
        if all((one := _read(pid)) is None or one.state in (_STOPPED, "t", "D") for pid in pids):
            return
        time.sleep(_STOP_POLL_SECONDS)


def thaw(but: set[int]) -> None:
    """Let every process go on except `but`; children before their parents, for the same reason.

    Some programs, script(1) among them, stop themselves when they hear that a child was stopped, and hear it only now: they go on too.
    """
    levels: list[set[int]] = []
    seen: set[int] = set()
    deadline = time.monotonic() + MOST_STOP_SECONDS
    while level := _next_level(seen, at_once=time.monotonic() > deadline):
        levels.append(level - but)
        seen |= level
    for level in reversed(levels):
        _signal(level, signal.SIGCONT)
    _settle(but)


def _settle(but: set[int]) -> None:
    """Continue what stops itself, until everybody has heard of it; who never listens is not waited for long."""
    deadline, quiet = time.monotonic() + _MOST_SETTLE_SECONDS, 0
    while quiet < _SETTLE_ROUNDS and time.monotonic() < deadline:
        time.sleep(_SETTLE_SECONDS)
        found = [one for one in inmates() if one.pid not in but]
        stopped = {one.pid for one in found if one.state == _STOPPED}
        _signal(stopped, signal.SIGCONT)
        quiet = 0 if stopped or any(one.unaware for one in found) else quiet + 1


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
