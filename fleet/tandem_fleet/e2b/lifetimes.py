"""Sandboxes as E2B's control plane has them: made for a time, asleep, woken, ended."""

import asyncio
import hashlib
import math
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.control_messages import (
    ForkResult,
    Lifecycle,
    ListedSandbox,
    Metric,
    NewSandbox,
    OpenedSandbox,
    Refused,
    SandboxDetail,
)
from tandem_fleet.e2b.named_snapshots import NamedSnapshots
from tandem_fleet.e2b.origin import LABEL, Origin, origin_of
from tandem_fleet.e2b.sandbox_calls import SandboxClients
from tandem_fleet.errors import ConflictError, FleetError, InvalidError, NotFoundError, SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.network_policies import NOT_ENFORCED
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State
from tandem_fleet.store.e2b import DeadlineStore

ENVD_VERSION = "0.6.4"
"""The version of E2B's daemon that a sandbox is like: clients use no later feature."""
CLIENT = "tandem"
READY_SECONDS = 170.0
WAKE_SECONDS = 60.0
TEMPLATES = frozenset({"base", "code-interpreter-v1", "mcp-gateway"})
"""Templates that the SDKs name unless they are told otherwise: each is the fleet's image, unless the fleet has one of that name."""
HOME_LINK = "[ -e /home/user ] || exec sudo -n ln -s {home} /home/user"
"""E2B's home of a sandbox's user leads to Tandem's."""
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
RUNNING = frozenset({State.CREATING, State.STARTING, State.READY})
ASLEEP = frozenset({State.PAUSED, State.STOPPED, State.STOPPING})


class Lifetimes:
    """The sandboxes of a fleet, by E2B's rules."""

    def __init__(self, fleet: Fleet, deadlines: DeadlineStore, clients: SandboxClients, tokens: SandboxTokens) -> None:
        self._fleet = fleet
        self._deadlines = deadlines
        self._clients = clients
        self._tokens = tokens
        self.snapshots = NamedSnapshots(fleet)

    async def create(self, tenant: str, request: NewSandbox, key: str) -> OpenedSandbox:
        """Make a sandbox, and wait until it is ready. The same key gives the same one. Raises `SandboxFailedError`."""
        policy = request.policy
        origin = Origin(
            template=request.template_id,
            metadata=request.metadata,
            environment=request.env_vars,
            timeout=request.timeout,
            pauses=request.auto_pause,
            keeps_memory=request.auto_pause_memory,
            resumes=request.auto_resume.enabled,
        )
        # A name by the key, as the fleet compares requests of one key with their names.
        name = f"e2b-{hashlib.sha256(key.encode()).hexdigest()[:24]}" if key else ""
        made = await self._make(tenant, request.template_id, origin, policy, name=name, key=key)
        if made.desired == Desired.RUNNING:
            await self._deadlines.set(made.id, datetime.now(UTC) + timedelta(seconds=request.timeout), extend=True)
        ready = await self._started(made, request.template_id)
        if ready.state != State.READY:
            raise ConflictError(f"the sandbox of this Idempotency-Key is {ready.state}")
        if policy is not None:
            await self._check_enforced(ready, request.template_id)
        await self._link_home(ready)
        return self.opened(ready)

    async def _make(self, tenant: str, template: str, origin: Origin, policy: dict[str, Any] | None, *, name: str, key: str) -> Sandbox:
        """A sandbox of the fleet's template of that name, else of a snapshot, else of an image."""
        labels = {LABEL: origin.model_dump_json()}
        try:
            await self._fleet.templates.find(tenant, template)
        except (NotFoundError, InvalidError):
            if found := await self.snapshots.find(tenant, template):
                return await self._fleet.copies.restore(tenant, found.id, name=name, key=key, labels=labels, egress=policy)
            spec = Spec(image=self._fleet.image if template in TEMPLATES else template, labels=labels)
        else:
            spec = Spec(template=template, labels=labels)
        return await self._fleet.create(tenant, spec, name=name, key=key, egress=policy)

    async def _started(self, made: Sandbox, template: str) -> Sandbox:
        """Wait until a sandbox is what it shall be. One that does not start is removed. Raises `SandboxFailedError`."""
        try:
            return await self._fleet.settle(made.id, READY_SECONDS)
        except (SandboxFailedError, TimeoutError) as error:
            await self._fleet.order(made.tenant, made.id, Desired.DELETED)
            raise SandboxFailedError(f"the sandbox of template {template!r} did not start: {error}") from error

    async def _check_enforced(self, sandbox: Sandbox, template: str) -> None:
        """Remove a sandbox that does not hold its programs to its network policy. Raises `SandboxFailedError`."""
        try:
            if await self._fleet.network.is_enforced(sandbox):
                return
            error = SandboxFailedError(NOT_ENFORCED.format(f"a sandbox of template {template!r}"))
        except SandboxFailedError as failed:
            error = failed
        await self._fleet.order(sandbox.tenant, sandbox.id, Desired.DELETED)
        raise error

    async def fork(self, tenant: str, name: str, count: int, seconds: int) -> list[ForkResult]:
        """So many sandboxes with the files that one has now, each of which lives for some seconds; or why it was not made."""
        origin = await self.find(tenant, name)
        if origin.state != State.READY:
            raise ConflictError(f"sandbox {name} is {origin.state}: only one that runs is forked")
        made = await self._fleet.copies.fork(tenant, origin.id, count)
        ends_at = datetime.now(UTC) + timedelta(seconds=seconds)
        for one in made:
            await self._deadlines.set(one.id, ends_at + timedelta(seconds=READY_SECONDS), extend=True)
        return list(await asyncio.gather(*(self._forked(one, seconds) for one in made)))

    async def _forked(self, made: Sandbox, seconds: int) -> ForkResult:
        try:
            ready = await self._started(made, origin_of(made).template)
            await self._deadlines.set(ready.id, datetime.now(UTC) + timedelta(seconds=seconds), extend=False)
        except FleetError as error:
            return ForkResult(error=Refused(code=500 if error.code == "sandbox_failed" else error.status, message=str(error)))
        return ForkResult(sandbox=self.opened(ready))

    async def _link_home(self, sandbox: Sandbox) -> None:
        """Make E2B's home. A sandbox without `sudo` has none."""
        calls = self._clients.calls(sandbox)
        try:
            await calls.call("POST", "/v1/bash/exec", {"command": HOME_LINK.format(home=await calls.home()), "hard_timeout": 10})
        except RPCError:
            return

    async def connect(self, tenant: str, name: str, seconds: int) -> tuple[OpenedSandbox, bool]:
        """Wake a sandbox if it sleeps, and have it live for some seconds at least; whether it slept."""
        sandbox = await self.find(tenant, name)
        asleep = sandbox.desired in (Desired.PAUSED, Desired.STOPPED)
        if asleep:
            sandbox = await self.wake(sandbox)
        elif sandbox.state != State.READY:
            sandbox = await self._fleet.settle(sandbox.id, WAKE_SECONDS)
        if origin_of(sandbox).known:
            await self._deadlines.set(sandbox.id, datetime.now(UTC) + timedelta(seconds=seconds), extend=True)
        return self.opened(sandbox), asleep

    async def wake(self, sandbox: Sandbox) -> Sandbox:
        """Have a sandbox run, and wait until it does. It has an end again."""
        origin = origin_of(sandbox)
        await self._fleet.order(sandbox.tenant, sandbox.id, Desired.RUNNING)  # may be refused: then it sleeps on, without an end
        if origin.known:
            await self._deadlines.set(sandbox.id, origin.ends_first(datetime.now(UTC)), extend=True)
        return await self._fleet.settle(sandbox.id, WAKE_SECONDS)

    async def pause(self, tenant: str, name: str, *, memory: bool) -> None:
        """Have a sandbox sleep: with its memory, or with its files alone. Raises `ConflictError` where it sleeps."""
        sandbox = await self.find(tenant, name)
        if sandbox.desired != Desired.RUNNING:
            raise ConflictError(f"sandbox {name} is paused")
        await self._fleet.settle(sandbox.id, WAKE_SECONDS)
        await self._fleet.order(tenant, sandbox.id, Desired.PAUSED if memory else Desired.STOPPED)
        await self._deadlines.forget(sandbox.id)
        await self._fleet.settle(sandbox.id, WAKE_SECONDS)

    async def kill(self, tenant: str, name: str) -> None:
        """End a sandbox and remove its files."""
        sandbox = await self._fleet.find(tenant, name)
        if sandbox.desired == Desired.DELETED:
            raise NotFoundError(f"there is no sandbox {name!r}")
        await self._fleet.order(tenant, sandbox.id, Desired.DELETED)
        await self._deadlines.forget(sandbox.id)

    async def live_for(self, tenant: str, name: str, seconds: int, *, extend: bool = False) -> None:
        """Have a sandbox end so many seconds from now; with `extend` not sooner than it would."""
        sandbox = await self.find(tenant, name)
        if sandbox.desired != Desired.RUNNING:
            raise NotFoundError(f"sandbox {name!r} is paused: it has no end")
        await self._deadlines.set(sandbox.id, datetime.now(UTC) + timedelta(seconds=seconds), extend=extend)

    async def change_network(self, tenant: str, name: str, policy: dict[str, Any]) -> None:
        """Replace what a sandbox that runs may reach. Raises `ConflictError`, `InvalidError`."""
        await self._fleet.network.replace(tenant, (await self.find(tenant, name)).id, policy)

    async def find(self, tenant: str, name: str) -> Sandbox:
        """A sandbox that runs or sleeps. Raises `NotFoundError` for another."""
        sandbox = await self._fleet.find(tenant, name)
        if sandbox.desired == Desired.DELETED or sandbox.state not in RUNNING | ASLEEP:
            raise NotFoundError(
                f"sandbox {name!r} is {sandbox.state}: {sandbox.reason}" if sandbox.reason else f"there is no sandbox {name!r}"
            )
        return sandbox

    async def all(self, tenant: str) -> AsyncIterator[tuple[int, Sandbox]]:
        """Sandboxes that run or sleep, the oldest first, each with its number."""
        after = 0
        while page := await self._fleet.page(tenant, after, 1000, None):
            for number, sandbox in page:
                if sandbox.desired != Desired.DELETED and sandbox.state in RUNNING | ASLEEP:
                    yield number, sandbox
            after = page[-1][0]

    async def listed(self, sandbox: Sandbox) -> ListedSandbox:
        """A sandbox as a list has it."""
        origin, spec = origin_of(sandbox), sandbox.spec
        return ListedSandbox(
            template_id=origin.template,
            sandbox_id=sandbox.id,
            client_id=CLIENT,
            alias=sandbox.name,
            started_at=sandbox.created_at,
            end_at=await self._deadlines.get(sandbox.id) or (NEVER if sandbox.state in RUNNING else sandbox.changed_at),
            cpu_count=cpu_count(sandbox),
            memory_mb=spec.memory_mb,
            disk_size_mb=0,
            metadata=origin.metadata,
            state="running" if sandbox.state in RUNNING else "paused",
            envd_version=ENVD_VERSION,
        )

    async def detail(self, sandbox: Sandbox, *, opens: bool) -> SandboxDetail:
        """A sandbox; with its access token for who may get into it."""
        origin = origin_of(sandbox)
        return SandboxDetail(
            **(await self.listed(sandbox)).model_dump(),
            envd_access_token=self._tokens.access(sandbox.id) if opens else None,
            lifecycle=Lifecycle(auto_resume=origin.resumes, on_timeout="pause" if origin.pauses else "kill"),
        )

    async def metrics(self, sandbox: Sandbox) -> list[Metric]:
        """What a sandbox uses now. There is no history. One that sleeps uses nothing."""
        if sandbox.state != State.READY:
            return []
        live = await self._clients.calls(sandbox).call("GET", "/v1/sandbox/observe/live", {"top_rows": 0})
        group, disks = live["cgroup"], live.get("disk") or [{}]
        at = datetime.now(UTC)
        return [
            Metric(
                timestamp=at,
                timestamp_unix=int(at.timestamp()),
                cpu_count=cpu_count(sandbox),
                cpu_used_pct=group.get("cpu_usage_pct") or 0.0,
                mem_used=group.get("mem_current_bytes") or 0,
                mem_total=group.get("mem_max_bytes") or sandbox.spec.memory_mb << 20,
                mem_cache=group.get("memory_file_bytes") or 0,
                disk_used=disks[0].get("used_bytes") or 0,
                disk_total=disks[0].get("total_bytes") or 0,
            )
        ]

    def opened(self, sandbox: Sandbox) -> OpenedSandbox:
        """A sandbox, and what opens it."""
        return OpenedSandbox(
            template_id=origin_of(sandbox).template,
            sandbox_id=sandbox.id,
            client_id=CLIENT,
            envd_version=ENVD_VERSION,
            envd_access_token=self._tokens.access(sandbox.id),
            traffic_access_token=self._tokens.traffic(sandbox.id),
        )


def cpu_count(sandbox: Sandbox) -> int:
    """Processors of a sandbox; without a limit those of this machine."""
    return math.ceil(sandbox.spec.cpus) if sandbox.spec.cpus else os.cpu_count() or 1
