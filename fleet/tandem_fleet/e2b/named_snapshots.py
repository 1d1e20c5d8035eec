"""Snapshots as E2B's clients know them: by an id, or by a name that the caller gave."""

from collections.abc import AsyncIterator

from tandem_fleet.e2b.control_messages import SnapshotInfo
from tandem_fleet.errors import InvalidError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.store.snapshots import Snapshot, SnapshotState

MADE_SECONDS = 600.0
PAGE = 200


class NamedSnapshots:
    """The snapshots of a fleet. A name that was given again is that of the newest."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def make(self, sandbox: Sandbox, name: str) -> SnapshotInfo:
        """Keep the files of a sandbox that is ready, and wait until it is done. Raises `ConflictError`, `SandboxFailedError`."""
        if name and name != name.strip():
            raise InvalidError("a snapshot's name neither begins nor ends with a space")
        made = await self._fleet.copies.snapshot(sandbox.tenant, sandbox.id, name)
        return described(await self._fleet.snapshots.settle(made.id, MADE_SECONDS))

    async def find(self, tenant: str, name: str) -> Snapshot | None:
        """A snapshot that is made, by its id or its name."""
        return await self._fleet.snapshots.named(tenant, name)

    async def all(self, tenant: str, after: int = 0) -> AsyncIterator[tuple[int, Snapshot]]:
        """A tenant's snapshots that are made, the oldest first, each with its number."""
        while page := await self._fleet.snapshots.page(tenant, after, PAGE):
            for number, one in page:
                if one.state == SnapshotState.READY:
                    yield number, one
            after = page[-1][0]

    async def remove(self, tenant: str, name: str) -> None:
        """Remove one. Raises `NotFoundError`, `ConflictError` while sandboxes are made of it."""
        found = await self.find(tenant, name)
        if found is None:
            raise NotFoundError(f"there is no snapshot {name[:200]!r}")
        await self._fleet.snapshots.remove(tenant, found.id)


def described(snapshot: Snapshot) -> SnapshotInfo:
    """A snapshot as clients read it."""
    return SnapshotInfo(snapshot_id=snapshot.id, names=(snapshot.label,) if snapshot.label else ())
