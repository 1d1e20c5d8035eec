"""The processes inside the box, seen and stopped from outside."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox_server.drivers.box.namespace_signal import signal_all

STOP_SECONDS = 1.0
"""How long processes may take to stop one after the other, and how long then all at once."""
_STOP_POLL_SECONDS = 0.0005
_SETTLE_ROUNDS = 3
_SETTLE_SECONDS = 0.002
_MOST_SETTLE_SECONDS = 1.0
_CHILD_CHANGED = 1 << (signal.SIGCHLD - 1)
_MAX_COMMAND = 200
_MAX_COMMAND_BYTES = 4096
_STOPPED = "T"
_STILL = (_STOPPED, "t", "D")
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


type Chosen = Callable[[Inmate], bool]
"""Which processes of the box are meant."""


def inmates() -> Iterator[Inmate]:
    """Every process of the box but its first, and those of namespaces made inside it."""
    return _inmates(map(int, filter(str.isdigit, os.listdir("/proc"))))


def latest_inmates() -> Iterator[Inmate]:
    """The same, those with the highest numbers first: each is looked at when it is asked for."""
    return _inmates(sorted(map(int, filter(str.isdigit, os.listdir("/proc"))), reverse=True))


def _inmates(pids: Iterable[int]) -> Iterator[Inmate]:
    return (found for pid in pids if (found := _read(pid)) and found.inner != 1)


def status_of(pid: int) -> dict[str, list[str]]:
    """The words of each line of /proc/PID/status; nothing for a process that is gone."""
    return _parsed(_status(pid))


def _status(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return b""


def _parsed(content: bytes) -> dict[str, list[str]]:
    lines = content.decode("utf-8", "replace").split("\n")  # a name may hold other line ends
    return {key: value.split() for key, _, value in (line.partition(":") for line in lines)}


def _read(pid: int) -> Inmate | None:
    content = _status(pid)
    if len(content.rpartition(b"\nNSpid:")[2].partition(b"\n")[0].split()) < 2:  # most processes are not in the box
        return None
    status = _parsed(content)
    numbers = status["NSpid"]  # in this namespace, then in those below it
    if status["State"][0] in _ENDED:
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


def all_of_them(_: Inmate) -> bool:
    """Choose every process."""
    return True


def freeze(chosen: Chosen = all_of_them, namespace: int | None = None) -> set[int]:
    """Stop every process that is chosen; gives those of the box that somebody else had stopped before.

    Parents stop before their children: a shell that still runs would take a stopped child for a suspended job. Where that takes too long,
    all are stopped at once, by their open process `namespace`.
    """
    found, deadline = list(inmates()), time.monotonic() + STOP_SECONDS
    before = {one.pid for one in found if one.state == _STOPPED}
    if not _stop_in_order(found, chosen, deadline):
        _stop_at_once(chosen, before, namespace, deadline + STOP_SECONDS)
    return before


def _stop_in_order(found: Iterable[Inmate], chosen: Chosen, deadline: float) -> bool:
    """Stop parents first; tells whether all stand still in time."""
    stopped: set[int] = set()
    while fresh := [one for one in found if one.pid not in stopped and chosen(one)]:
        for level in _levels(fresh):
            _signal(level, signal.SIGSTOP)
            if not _await_stop(level, deadline):
                return False
            stopped |= level
        if time.monotonic() > deadline:
            return False
        found = inmates()
    return True


def _stop_at_once(chosen: Chosen, before: set[int], namespace: int | None, deadline: float) -> None:
    """Stop everything, and let go on what is not chosen; without a namespace stop those that are there, until more no longer come."""
    if namespace is not None and signal_all(namespace, signal.SIGSTOP):
        _await_stop({one.pid for one in inmates()}, deadline)
        if others := {one.pid for one in inmates() if not chosen(one)}:
            thaw(before, lambda one: one.pid in others)
        return
    while time.monotonic() < deadline and (moving := {one.pid for one in inmates() if one.state not in _STILL and chosen(one)}):
        _signal(moving, signal.SIGSTOP)
        time.sleep(_STOP_POLL_SECONDS)


def _levels(found: Sequence[Inmate]) -> Iterator[set[int]]:
    """Divide processes by how deep they are in the tree: those whose parent is none of them first."""
    waiting = {one.pid: one.parent for one in found}
    while waiting:
        level = {pid for pid, parent in waiting.items() if parent not in waiting} or set(waiting)
        yield level
        waiting = {pid: parent for pid, parent in waiting.items() if pid not in level}


def _await_stop(pids: set[int], deadline: float) -> bool:
    """Wait until they stand still; tells whether they do in time. What waits for a dead disk is taken to."""
    while not all(_state(pid) in ("", *_STILL, *_ENDED) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(_STOP_POLL_SECONDS)
    return True


def _state(pid: int) -> str:
    """The state of a process; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1].decode()
    except OSError:
        return ""


def thaw(but: set[int], chosen: Chosen = all_of_them) -> None:
    """Let every process that is chosen go on except `but`; children before their parents, for the same reason.

    Some programs, script(1) among them, stop themselves when they hear that a child was stopped, and hear it only now: they go on too.
    """
    for level in reversed(list(_levels(list(filter(chosen, inmates()))))):
        _signal(level - but, signal.SIGCONT)
    _settle(but, chosen)


def _settle(but: set[int], chosen: Chosen) -> None:
    """Continue what stops itself, until everybody has heard of it; who never listens is not waited for long."""
    deadline, quiet = time.monotonic() + _MOST_SETTLE_SECONDS, 0
    while quiet < _SETTLE_ROUNDS and time.monotonic() < deadline:
        time.sleep(_SETTLE_SECONDS)
        found = [one for one in filter(chosen, inmates()) if one.pid not in but]
        stopped = {one.pid for one in found if one.state == _STOPPED}
        _signal(stopped, signal.SIGCONT)
        quiet = 0 if stopped or any(one.unaware for one in found) else quiet + 1


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
