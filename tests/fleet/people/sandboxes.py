"""Sandboxes in the store that say where they answer, as the reconciler would write them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State, new_id
from tandem_fleet.store.sandboxes import SandboxStore


def ready(address: str, name: str = "work", **labels: str) -> Sandbox:
    """One that is in no store."""
    now = datetime.now(UTC)
    spec = Spec(image="image", labels=labels)
    return Sandbox(
        id=new_id(),
        name=name,
        tenant="default",
        spec=spec,
        desired=Desired.RUNNING,
        state=State.READY,
        address=address,
        created_at=now,
        changed_at=now,
    )


@dataclass(frozen=True)
class Sandboxes:
    """Puts them there."""

    store: SandboxStore

    async def add(self, address: str, name: str = "work", tenant: str = "default", **labels: str) -> Sandbox:
        """One that is ready."""
        number = new_id()
        await self.store.create(number, name, tenant, Spec(image="image", labels=labels))
        return await self.store.change(number, state=State.READY, address=address)
