"""The network policy of a sandbox that runs."""

import json
from typing import Any

from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.sandbox_client import Refusal, SandboxClient
from tandem_fleet.sandboxes import Sandbox, State
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.templates import EGRESS_VARIABLE, check_egress

SECONDS = 30.0
NOT_ENFORCED = "{} cannot hold its programs to a network policy: see /v1/egress/status of it"


class NetworkPolicies:
    """Reads and replaces the policies of sandboxes."""

    def __init__(self, store: SandboxStore, client: SandboxClient) -> None:
        self._store = store
        self._client = client

    async def is_enforced(self, sandbox: Sandbox) -> bool:
        """Whether every program of a sandbox that is ready is held to its policy, root's too."""
        status = await self._client.call(sandbox, "view", "GET", "/v1/egress/status")
        return isinstance(status, dict) and status.get("enforcement") == "namespace"

    async def replace(self, tenant: str, name: str, policy: dict[str, Any]) -> None:
        """Replace the policy of a sandbox that is ready. It holds at once, and in what is made of the sandbox later.

        Raises `ConflictError` where it is not ready or does not hold its programs to policies, `InvalidError` for a policy that it refuses.
        """
        check_egress(policy)
        sandbox = await self._store.find(tenant, name)
        if sandbox.state != State.READY:
            raise ConflictError(f"{sandbox.name} is {sandbox.state}: only one that is ready takes a network policy")
        if not await self.is_enforced(sandbox):
            raise ConflictError(NOT_ENFORCED.format(sandbox.name))
        try:
            await self._client.call(sandbox, "admin", "PUT", "/v1/egress/policy?if_match=*", policy, seconds=SECONDS)
        except Refusal as error:
            raise (InvalidError if error.answered in (400, 422) else ConflictError)(str(error)) from error
        await self._keep(sandbox, json.dumps(policy))

    async def _keep(self, sandbox: Sandbox, policy: str) -> None:
        """Have what is made of it later begin with the policy."""
        kept = False
        while not kept:
            now = await self._store.get(sandbox.id)
            spec = now.spec.model_copy(update={"environment": now.spec.environment | {EGRESS_VARIABLE: policy}})
            _, kept = await self._store.change_from(now, now.id, spec=spec.model_dump(mode="json"))
