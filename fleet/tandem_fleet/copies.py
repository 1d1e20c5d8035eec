"""Makes sandboxes with the files of others."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tandem_fleet.creation import Creation
from tandem_fleet.errors import FleetError
from tandem_fleet.preparation import Preparation
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.snapshots import Snapshots
from tandem_fleet.store.snapshots import Snapshot

Find = Callable[[str, str], Awaitable[Sandbox]]


class Copies:
    """Restores snapshots into new sandboxes, and forks sandboxes."""

    def __init__(self, find: Find, snapshots: Snapshots, creation: Creation, discard: Callable[[Sandbox], Awaitable[None]]) -> None:
        self._find = find
        self._snapshots = snapshots
        self._creation = creation
        self._discard = discard

    async def snapshot(self, tenant: str, name: str, label: str) -> Snapshot:
        """Begin to make a snapshot of a sandbox."""
        return await self._snapshots.make(await self._find(tenant, name), label)

    async def restore(
        self, tenant: str, snapshot: str, *, name: str = "", key: str = "", labels: Mapping[str, str] | None = None, **work: Any
    ) -> Sandbox:
        """A new sandbox that is made of what the snapshot's was, and gets its files before it is ready. `labels` are set anew."""
        found = await self._snapshots.get(tenant, snapshot)
        spec = found.spec.model_copy(update={"labels": found.spec.labels | dict(labels or {})})
        return await self._creation.create(tenant, spec, name, key, Preparation(snapshot=snapshot, **work))

    async def fork(self, tenant: str, name: str, count: int) -> list[Sandbox]:
        """So many new sandboxes with the files that a sandbox has now. They start while the snapshot is made."""
        origin = await self._find(tenant, name)
        made = await self._snapshots.make(origin, f"fork of {origin.name}", temporary=True)
        copies: list[Sandbox] = []
        try:
            for _ in range(count):
                copies += [await self.restore(tenant, made.id)]
        except FleetError:
            for one in copies:  # all or none: who asked does not know of them
                await self._discard(one)
            raise
        return copies
