"""Limit monitor: finds when the agent meets or breaks a limit of its box, and which process did.

It looks once a second, which costs next to nothing, and ten times a second while memory runs short. What it sees becomes an incident:
one when it begins, until it is over.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from sandbox_server.drivers.box import resolve_beneath
from sandbox_server.drivers.box.attribution import RECENT_SECONDS, AttributedProcess, EndedProcess, UsageAttribution
from sandbox_server.drivers.box.disk_reserve import BYTES, FILES
from sandbox_server.drivers.stats import cgroup

LOOK_SECONDS = 1.0
HURRY_SECONDS = 0.1
MAX_INCIDENTS = 100
MANY = 0.9
"""Share of a limit from which it counts as met; it is no more met below nine tenths of that."""
MEMORY_HURRY = 0.7
"""Share of the memory from which it is looked at more often, so that who grows is known when the kernel ends it."""
MANY_DESCRIPTORS = 8192
"""Open files of one process."""
KILLED_TOGETHER = 2
"""Processes of ours in the box that somebody in there killed within RECENT_SECONDS; one may be an accident."""
_SYSTEM_FOLDER, _SYSTEM_PROGRAM = "usr/bin", "bash"

type Kind = Literal["processes", "memory", "disk", "inodes", "descriptors", "system", "killed"]

_HINTS: dict[Kind, str] = {
    "processes": "end them all at once with POST /v1/box/restart; BOX_MAX_PROCESSES is the limit",
    "memory": "end what needs it, or give the container more with --memory",
    "disk": "delete files, or go back with POST /v1/checkpoints/{checkpoint_id}/restore",
    "inodes": "delete files, or go back with POST /v1/checkpoints/{checkpoint_id}/restore",
    "descriptors": "end the process",
    "system": "go back with POST /v1/checkpoints/image/restore, or to another checkpoint",
    "killed": "POST /v1/box/restart starts them again",
}


@dataclass(frozen=True)
class LimitBreach:
    """Something that the agent did to its box. Times are in seconds since the epoch; `ended` is None while it lasts."""

    id: int
    kind: Kind
    detail: str
    hint: str
    culprit: AttributedProcess | None
    began: float
    ended: float | None = None


@dataclass(frozen=True)
class MonitoredLimits:
    """What the box may have; memory in bytes, None where nothing limits it."""

    processes: int
    memory: int | None
    enforced: bool = False
    """Whether nobody else holds the box to its memory: then its largest process is ended beyond it."""


_USED: dict[Kind, str] = {"processes": "threads", "memory": "memory", "descriptors": "descriptors", "disk": "written"}
"""What the culprit uses most of; of the others, the kernel's time."""


class LimitMonitor:
    """Watches the box whose files are in `folder`."""

    def __init__(self, folder: str, limits: MonitoredLimits, control: str = cgroup.ROOT) -> None:
        self.incidents: list[LimitBreach] = []
        self.attribution = UsageAttribution()
        self._folder = folder
        self._limits = limits
        self._control = control
        self._memory = cgroup.snapshot(control)
        self._killed: list[EndedProcess] = []
        self._due = 0.0
        self._short_until = 0.0
        self._count = 0

    def wait(self) -> float:
        """Seconds until the next look is due."""
        return max(0.0, self._due - time.monotonic())

    def look(self, init: int | None) -> None:
        """Look, where it is time to; `init` is the box's first process."""
        if self.wait() > 0 or init is None:
            return
        room = list(self._see_disk())  # before who used it is looked for, so that nothing is missing of what they did
        self.attribution.look()
        seen = {kind: detail for kind, detail in [*room, *self._see(init)] if detail}
        used = self.attribution.total.memory if self._limits.enforced else self._memory.mem_current_bytes
        hurries = used > MEMORY_HURRY * (self._limits.memory or sys.maxsize)
        self._due = time.monotonic() + (HURRY_SECONDS if hurries else LOOK_SECONDS)
        self._update(seen)

    def begin_anew(self) -> None:
        """Take note of a new box: nobody of an earlier one is to blame for what is seen of this, nor the other way round."""
        self._short_until = 0.0
        self._killed.clear()
        self._update({})
        self.attribution.forget()

    def _see(self, init: int) -> Iterator[tuple[Kind, str | None]]:
        total = self.attribution.total
        yield "processes", self._over("processes", total.threads, self._limits.processes, "processes and threads")
        yield "memory", self._see_memory()
        yield "descriptors", f"a process has room for {total.descriptors} open files" if total.descriptors >= MANY_DESCRIPTORS else None
        gone = not _has_system(f"/proc/{init}/root")
        yield "system", f"the box has no /{_SYSTEM_FOLDER}/{_SYSTEM_PROGRAM} any more: nothing starts in it" if gone else None
        before = (one for one in self._killed if time.monotonic() - one.at < RECENT_SECONDS)
        self._killed = [*before, *self.attribution.killed()]  # whose session it was may be told a look later
        many = len(self._killed) >= KILLED_TOGETHER
        yield "killed", f"{len(self._killed)} processes were killed from inside" if many else None

    def _over(self, kind: Kind, used: int, limit: int | None, what: str) -> str | None:
        threshold = MANY * (MANY if self._lasting(kind) else 1.0) * (limit or sys.maxsize)
        return f"{used} of {limit} {what}" if used >= threshold else None

    def _see_memory(self) -> str | None:
        before, self._memory = self._memory, cgroup.snapshot(self._control)
        if (self._memory.oom_kill or 0) > (before.oom_kill or 0):
            self._short_until = time.monotonic() + RECENT_SECONDS
        if time.monotonic() < self._short_until:  # its session may say only now what it had used
            return "the kernel ended a process, because there was no memory left"
        held = (self._memory.memory_anon_bytes or 0) + (self._memory.memory_shmem_bytes or 0)
        if self._limits.enforced:
            held = self.attribution.total.memory
            if held > (self._limits.memory or sys.maxsize):
                self._end("memory")  # that a process is ended is an incident of its own
                return f"{held} of {self._limits.memory} bytes of memory; the largest process was ended: {self.attribution.end_largest()}"
        return self._over("memory", held, self._limits.memory, "bytes of memory")

    def _see_disk(self) -> Iterator[tuple[Kind, str | None]]:
        room = os.statvfs(self._folder)
        free = room.f_bavail * room.f_frsize
        yield "disk", f"{free} of {room.f_blocks * room.f_frsize} bytes are free" if free < self._least("disk", BYTES) else None
        few = room.f_files > 0 and room.f_favail < self._least("inodes", FILES)
        yield "inodes", f"{room.f_favail} of {room.f_files} inodes are free" if few else None

    def _least(self, kind: Kind, reserved: int) -> int:
        return reserved * (4 if self._lasting(kind) else 2)

    def _lasting(self, kind: Kind) -> LimitBreach | None:
        return next((one for one in self.incidents if one.kind == kind and one.ended is None), None)

    def _update(self, seen: dict[Kind, str]) -> None:
        now = time.time()
        self._end(*{one.kind for one in self.incidents} - seen.keys())
        self.incidents = [self._named(one, now) for one in self.incidents]
        for kind, detail in seen.items():
            if not self._lasting(kind):
                self._begin(kind, detail, now)

    def _end(self, *kinds: Kind) -> None:
        now = time.time()
        self.incidents = [replace(one, ended=now) if one.ended is None and one.kind in kinds else one for one in self.incidents]

    def _named(self, incident: LimitBreach, now: float) -> LimitBreach:
        """Name who it was where that shows only now: a command tells what it used when it ends.

        A session takes the place of a process that no session started, where the kernel's time was all there was to go by, and where memory
        ran out: a process that grows faster than this looks is known to be large by what its session tells at its end.
        """
        sure = incident.culprit and (incident.culprit.session or incident.kind in _USED.keys() - {"memory"})
        if sure or incident.ended or now - incident.began > RECENT_SECONDS:
            return incident
        culprit = self._culprit(incident.kind)
        if not culprit or (incident.culprit and not culprit.session):
            return incident
        named = replace(incident, culprit=culprit)
        _log(named, now)
        return named

    def _begin(self, kind: Kind, detail: str, now: float) -> None:
        self._count += 1
        incident = LimitBreach(self._count, kind, detail, _HINTS[kind], self._culprit(kind), now)
        self.incidents = [*self.incidents, incident][-MAX_INCIDENTS:]
        _log(incident, now)

    def _culprit(self, kind: Kind) -> AttributedProcess | None:
        if kind == "killed":
            sessions = {one.culprit.session: one.culprit for one in self._killed if one.culprit.session}
            return next(iter(sessions.values())) if len(sessions) == 1 else None  # else all but one are victims
        return self.attribution.worst(_USED.get(kind, "system"))


def _has_system(root: str) -> bool:
    """Whether the box has what everything starts with; a link of the agent's would lead out of the box from here, and counts as nothing."""
    try:
        with resolve_beneath.opened(root, _SYSTEM_FOLDER) as folder:
            return os.path.lexists(f"{folder}/{_SYSTEM_PROGRAM}")
    except OSError:
        return False


def _log(incident: LimitBreach, now: float) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    fields = {key: value for key, value in asdict(incident).items() if key not in ("began", "ended")}
    line = {"time": at, "level": "warning", "logger": "box", "message": "incident", **fields}
    sys.stderr.write(json.dumps(line) + "\n")


def disk(folder: str) -> dict[str, int]:
    """Room on the filesystem of the box: bytes and inodes, all and free."""
    room = os.statvfs(folder)
    sizes = {"total_bytes": room.f_blocks * room.f_frsize, "free_bytes": room.f_bavail * room.f_frsize}
    return sizes | {"total_inodes": room.f_files, "free_inodes": room.f_favail}


def newest_first(incidents: Sequence[LimitBreach]) -> list[dict[str, object]]:
    """Incidents for somebody else, the newest first."""
    return [asdict(one) for one in reversed(incidents)]
