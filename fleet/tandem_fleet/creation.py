"""Makes sandboxes: of a template or without one, of those that wait in its pool, or anew."""

import json
import re
from collections.abc import Callable
from typing import Any

from tandem_fleet.errors import InvalidError, NotFoundError
from tandem_fleet.pools import Pools, is_warm
from tandem_fleet.preparation import Preparation
from tandem_fleet.sandboxes import NAME, Sandbox, Spec, check_spec, new_id
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.templates import SHARED
from tandem_fleet.templates import EGRESS_VARIABLE, Template, Templates, check_egress


class Creation:
    """Writes a sandbox that shall be into the store. `poke` has it looked at."""

    def __init__(self, store: SandboxStore, templates: Templates, pools: Pools, poke: Callable[[str], None]) -> None:
        self._store = store
        self._templates = templates
        self._pools = pools
        self._poke = poke

    async def create(self, tenant: str, spec: Spec, name: str, key: str, work: Preparation) -> Sandbox:
        """A sandbox that shall run, and what is put into it before it is ready."""
        if name and not re.fullmatch(NAME, name):
            raise InvalidError("a name takes lower-case letters, digits and hyphens, 40 at most")
        asked = f"{name}\n{spec.model_dump_json()}\n{work.model_dump_json()}"
        template: Template | None = None
        if spec.template:
            spec, template = await self._fill(tenant, spec, of_snapshot=bool(work.snapshot))
        check_spec(spec)
        work = work.model_copy(update={"tenant": tenant, "name": name})
        if work.egress is not None:
            check_egress(work.egress)
        made = await self._claim(template, tenant, spec, name, key, asked, work) if template else None
        if made is None:
            made = await self._make(tenant, spec, name, key, asked, work)
        self._poke(made.id)
        return made

    async def _fill(self, tenant: str, spec: Spec, *, of_snapshot: bool) -> tuple[Spec, Template | None]:
        """What the template says besides. A snapshot has it all, and outlives its template."""
        try:
            filled, template = await self._templates.fill(tenant, spec)
        except NotFoundError:
            if of_snapshot:
                return spec, None
            raise
        return (spec if of_snapshot else filled), template

    async def _claim(
        self, template: Template, tenant: str, spec: Spec, name: str, key: str, asked: str, work: Preparation
    ) -> Sandbox | None:
        """One that waits, where it can become this."""
        if template.content.pool is None or work.egress is not None or not is_warm(template, spec):
            return None  # a policy of the request is a variable of the container: it holds after each start, and in copies

        async def claim(pool: str) -> Sandbox | None:
            return await self._store.claim(pool, name, tenant, spec, key=key, asked=asked, work=_json(work))

        return await self._pools.claim(SHARED if template.shared else tenant, template, claim)

    async def _make(self, tenant: str, spec: Spec, name: str, key: str, asked: str, work: Preparation) -> Sandbox:
        """A new one, which has its network policy from its start."""
        if work.egress is not None:
            environment = spec.environment | {EGRESS_VARIABLE: json.dumps(work.egress)}
            spec = spec.model_copy(update={"environment": environment})
            work = work.model_copy(update={"egress": None})
        number = new_id()
        return await self._store.create(number, name or number, tenant, spec, key=key, asked=asked, work=_json(work))


def _json(work: Preparation) -> dict[str, Any]:
    return work.model_dump(mode="json", exclude_defaults=True)
