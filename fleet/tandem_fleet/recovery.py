"""Finds out whose a sandbox is that is nobody's and waits in no pool: the store was lost, and the engine's labels say what it was made as.

One that was claimed was bound to its tenant, and says so. One that was not is removed.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tandem_fleet.errors import FleetError, SandboxFailedError
from tandem_fleet.sandbox_client import SandboxClient
from tandem_fleet.sandboxes import NAME, Desired, Sandbox, State
from tandem_fleet.store.pools import NOBODY, PoolStore
from tandem_fleet.store.sandboxes import SandboxStore

Change = Callable[[Sandbox, Desired], Awaitable[object]]
TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_log = logging.getLogger(__name__)


class Recovery:
    """Gives such sandboxes back. `change` has one become something else."""

    def __init__(self, store: SandboxStore, pools: PoolStore, client: SandboxClient, change: Change) -> None:
        self._store = store
        self._pools = pools
        self._client = client
        self._change = change
        self._found: asyncio.Queue[Sandbox] = asyncio.Queue()

    def note(self, sandbox: Sandbox) -> None:
        """A sandbox became what it is now."""
        if sandbox.tenant == NOBODY and sandbox.state == State.READY and sandbox.desired == Desired.RUNNING:
            self._found.put_nowait(sandbox)

    async def run(self) -> None:
        """Give back each that is found, without end."""
        while True:
            sandbox = await self._found.get()
            try:
                if not await self._pools.waits(sandbox.id):
                    await self._give_back(sandbox)
            except (FleetError, SQLAlchemyError, OSError):
                _log.exception("cannot find out whose %s is", sandbox.id)

    async def _give_back(self, sandbox: Sandbox) -> None:
        tenant, name = read_binding(await self._client.call(sandbox, "view", "GET", "/v1/identity"))
        if not tenant:
            await self._change(sandbox, Desired.DELETED)
            return
        try:
            await self._store.change_from(sandbox, sandbox.id, tenant=tenant, name=name or sandbox.id)
        except IntegrityError:
            await self._store.change_from(sandbox, sandbox.id, tenant=tenant, name=sandbox.id)
        _log.warning("sandbox %s says that it works for %s: it is theirs again", sandbox.id, tenant)


def read_binding(said: Any) -> tuple[str, str]:
    """The tenant that a sandbox is bound to and the name that it had; empty where it has none. Raises `SandboxFailedError`."""
    if not isinstance(said, dict) or "sandbox_id" not in said:
        raise SandboxFailedError("the sandbox does not say whom it works for")
    tenant, labels = said.get("tenant"), said.get("labels")
    name = labels.get("name") if isinstance(labels, dict) else None
    known = tenant if isinstance(tenant, str) and TENANT.fullmatch(tenant) else ""
    return known, name if isinstance(name, str) and re.fullmatch(NAME, name) else ""
