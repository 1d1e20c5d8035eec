"""What the doctor asks of the box."""

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_server.core.diagnosis import Finding, Probe
from sandbox_server.drivers.box.client import BoxClient

PROPER = "the flags in docs/security.md"
FULL = 0.9
"""Share of the quota from which it is as good as used up."""
_STORED = {
    "volume": "files and checkpoints outlive the container",
    "container": "files and checkpoints go with the container",
    "memory": "files and checkpoints are in memory, and go when the container stops",
}


class BoxChecks:
    """Looks at the box of `box`; `quota` is what checkpoints may take, in bytes."""

    def __init__(self, box: BoxClient, *, quota: int) -> None:
        self._box = box
        self._quota = quota

    def probes(self) -> Sequence[Probe]:
        """The guarantees; without a box there is only the question of why."""
        level = Probe("box", self._level, f"run with {' and '.join(self._box.isolation.flags) or PROPER}")
        if self._box.isolation.level != "box":
            return (level,)
        return (
            level,
            Probe("box_storage", self._storage, "mount a named volume at BOX_DIR: --volume NAME:/sandbox"),
            Probe("box_limits", self._limits, "set BOX_MAX_MEMORY_BYTES, or run with --memory 4g"),
            Probe("box_reaper", self._reaper, "look at the box's lines in the container's log"),
            Probe("box_disk", self._disk, "delete files in the box, restore a checkpoint, or give it a larger volume"),
            Probe("checkpoint_quota", self._checkpoints, "remove, prune or squash checkpoints, or raise CHECKPOINT_QUOTA_BYTES"),
            Probe("box_incidents", self._incidents, "GET /v1/box says who did what, and what to do"),
        )

    async def _status(self) -> Mapping[str, Any]:
        return await self._box.ask("status")

    async def _level(self) -> Finding:
        found = self._box.isolation
        detail = "the agent has a Linux of its own" if found.level == "box" else f"the isolation level is {found.level}: {found.reason}"
        return Finding(found.level == "box", detail)

    async def _storage(self) -> Finding:
        await self._status()  # fails where the volume cannot be read
        storage = self._box.isolation.storage
        return Finding(storage == "volume", _STORED.get(storage or "", "unknown"))

    async def _limits(self) -> Finding:
        limits = (await self._status())["limits"]
        memory = f"{limits['memory'] >> 20} MiB" if limits["memory"] else "no limit"
        return Finding(limits["memory"] is not None, f"{limits['processes']} processes and threads, {memory} of memory")

    async def _reaper(self) -> Finding:
        status = await self._status()
        runs = f"box {status['made']} runs with {status['processes']} processes, and reaps them"
        return Finding(status["running"], runs if status["running"] else f"there is no box: {status['failure']}")

    async def _disk(self) -> Finding:
        status = await self._status()
        room = status["disk"]
        detail = f"{room['free_bytes'] >> 20} of {room['total_bytes'] >> 20} MiB free, {room['free_inodes']} inodes free"
        return Finding(status["reserved"], f"{detail}; room for checkpoints is {'kept' if status['reserved'] else 'not kept'}")

    async def _checkpoints(self) -> Finding:
        taken = sum(one["bytes"] or 0 for one in (await self._box.ask("list"))["checkpoints"])
        return Finding(taken < FULL * self._quota, f"checkpoints take {taken >> 20} of {self._quota >> 20} MiB")

    async def _incidents(self) -> Finding:
        lasting = [one for one in (await self._status())["incidents"] if one["ended"] is None]
        return Finding(not lasting, "; ".join(map(_told, lasting)) or "the box is within its limits")


def _told(incident: Mapping[str, Any]) -> str:
    who = incident["culprit"]
    named = f" by {who['session'] or 'no session'}, process {who['pid']} of uid {who['uid']}: {who['command']}" if who else ""
    return f"{incident['kind']}: {incident['detail']}{named}"
