"""Empties a fleet before its machine or its engine is worked on: nothing new begins, and what nobody uses is stopped."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.idleness import read_idleness
from tandem_fleet.quotas import occupies
from tandem_fleet.sandbox_client import SandboxClient
from tandem_fleet.sandboxes import Desired, Sandbox, State
from tandem_fleet.store.facts import DRAINING, FactStore
from tandem_fleet.store.sandboxes import SandboxStore

Change = Callable[[Sandbox, Desired], Awaitable[object]]


@dataclass
class Drained:
    """What became of the sandboxes."""

    stopped: list[Sandbox] = field(default_factory=list)
    used: list[Sandbox] = field(default_factory=list)
    """They run on: somebody uses them, or they do not say that nobody does."""


class Drain:
    """Whether the fleet is drained. `change` has a sandbox that is still as it was seen become something else."""

    def __init__(self, store: SandboxStore, client: SandboxClient, change: Change) -> None:
        self._facts = FactStore(store.database)
        self._store = store
        self._client = client
        self._change = change

    async def draining(self) -> bool:
        """Whether nothing new is made or started."""
        return bool(await self._facts.get(DRAINING))

    async def set(self, draining: bool) -> None:
        """Refuse what is new from now on, or no longer."""
        await self._facts.set(DRAINING, True if draining else None)

    async def stop(self, idle_seconds: float) -> Drained:
        """Stop what has not been used for so long; with 0 all that run or are paused. Their files stay."""
        drained = Drained()
        async for sandbox in self._store.all():
            if not occupies(sandbox.desired, sandbox.state):
                continue
            if idle_seconds and await self._is_used(sandbox, idle_seconds):
                drained.used.append(sandbox)
            else:
                await self._change(sandbox, Desired.STOPPED)
                drained.stopped.append(sandbox)
        return drained

    async def _is_used(self, sandbox: Sandbox, seconds: float) -> bool:
        if sandbox.state != State.READY:
            return sandbox.state != State.PAUSED
        try:
            said = await self._client.call(sandbox, "view", "GET", "/v1/idleness")
            return read_idleness(sandbox, said) < seconds
        except SandboxFailedError:
            return True
