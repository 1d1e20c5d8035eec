"""Puts into a sandbox, once it answers and before it is ready, what it is told after its start: whom it works for, files, policy, secrets.

Each part may be repeated: one that was cut short is done again.
"""

import asyncio
import time
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tandem_fleet.errors import EngineError, SandboxFailedError
from tandem_fleet.sandbox_client import Refusal, SandboxClient
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.snapshots import Snapshots
from tandem_fleet.store.preparations import PreparationStore

ATTEMPTS, PAUSE_SECONDS, CALL_SECONDS = 4, 0.5, 60.0
AGAIN_SECONDS, LONGEST_SECONDS = 20.0, 3600.0


class Preparation(BaseModel):
    """What is put into a sandbox."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tenant: str = Field(default="", description="Whom it works for.")
    name: str = Field(default="", description="What it is called.")
    snapshot: str = Field(default="", description="The snapshot whose files it gets.")
    egress: dict[str, Any] | None = Field(default=None, description="The network policy that it is started with.")
    secrets: dict[str, dict[str, Any]] = Field(default_factory=dict, description="Its secrets by name.")


class Preparations:
    """Does what is to be done for each sandbox, once. One that refused is asked again later each time."""

    def __init__(self, store: PreparationStore, client: SandboxClient, snapshots: Snapshots) -> None:
        self._store = store
        self._client = client
        self._snapshots = snapshots
        self._refused: dict[str, tuple[float, int, str]] = {}

    def forget(self, sandbox: str) -> None:
        """Ask one again at once: it was told to start."""
        self._refused.pop(sandbox, None)

    def is_held(self, sandbox: str) -> bool:
        """Whether one refused, and is not asked again yet."""
        return time.monotonic() < self._refused.get(sandbox, (0.0, 0, ""))[0]

    async def prepare(self, sandbox: Sandbox) -> None:
        """Put into a sandbox that answers what it does not have yet. Raises `EngineError` where it does not take it."""
        if (work := await self._store.of(sandbox.id)) is None:
            return
        until, times, reason = self._refused.get(sandbox.id, (0.0, 0, ""))
        if time.monotonic() < until:
            raise EngineError(reason)
        try:
            await self._do_again(sandbox, Preparation.model_validate(work))
        except (SandboxFailedError, ValidationError) as error:
            wait = min(LONGEST_SECONDS, AGAIN_SECONDS * 2**times)
            self._refused[sandbox.id] = time.monotonic() + wait, times + 1, str(error)
            raise EngineError(str(error)) from error
        self.forget(sandbox.id)
        await self._store.done(sandbox.id)
        if work.get("snapshot"):
            await self._snapshots.sweep()

    async def _do_again(self, sandbox: Sandbox, work: Preparation) -> None:
        """One that does not answer, as one that has just started may on a busy machine, is asked again; one that refuses is not."""
        for left in reversed(range(ATTEMPTS)):
            try:
                await self._do(sandbox, work)
            except SandboxFailedError as error:
                if not left or (isinstance(error, Refusal) and error.answered < 500):
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                return

    async def _do(self, sandbox: Sandbox, work: Preparation) -> None:
        if work.tenant:
            await self._bind(sandbox, work)
        if work.snapshot:
            await self._snapshots.put(sandbox, work.snapshot)
        for name, definition in work.secrets.items():
            await self._client.call(sandbox, "admin", "PUT", f"/v1/secrets/{name}", definition, seconds=CALL_SECONDS)

    async def _bind(self, sandbox: Sandbox, work: Preparation) -> None:
        """An image without an identity has none to bind."""
        try:
            binding = {"tenant": work.tenant, "labels": {"name": work.name}}
            await self._client.call(sandbox, "admin", "POST", "/v1/sandbox/bind", binding, seconds=CALL_SECONDS)
        except Refusal as refusal:
            if refusal.answered != 404:
                raise
