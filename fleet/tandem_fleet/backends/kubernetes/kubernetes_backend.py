"""Sandboxes as Pods, in one namespace of a cluster.

A sandbox is a Secret, which says all that the fleet knows of it, and a volume, a headless Service, a network policy and, while it runs,
a Pod. A stopped one has no Pod.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Any

from tandem_fleet.backends.backend import Finding, Found, Order
from tandem_fleet.backends.kubernetes import objects, pod_state
from tandem_fleet.backends.kubernetes.client import KubernetesClient, Object
from tandem_fleet.backends.kubernetes.examination import examine
from tandem_fleet.backends.kubernetes.objects import GRACE_SECONDS, PAUSED, PODS, POLICIES, SECRETS, SERVICES, STARTED, VOLUMES, name_of
from tandem_fleet.backends.kubernetes.pod_watch import changes
from tandem_fleet.backends.kubernetes.pods import AgentSandboxPods, PlainPods, Pods
from tandem_fleet.backends.kubernetes.suspension import Suspension
from tandem_fleet.errors import EngineError
from tandem_fleet.sandboxes import FLEET_LABEL, ID_LABEL
from tandem_fleet.settings import KubernetesSettings

START_SECONDS = 60.0
"""How long `start` waits for the container; what takes longer, as an image that is fetched, goes on without it."""
SUSPEND_SECONDS = 60.0
RESUME_SECONDS = 20.0
DELETE_GRACE_SECONDS = 1
"""For programs whose files go with them."""
END_SECONDS = 30.0
"""How much longer than its grace a Pod may take until it is gone."""


class KubernetesBackend:
    """The sandboxes of one fleet in one namespace. `sign` gives a token that opens the sandbox of an id."""

    def __init__(self, fleet: str, settings: KubernetesSettings, sign: Callable[[str], str]) -> None:
        self._fleet = fleet
        self._settings = settings
        self._sign = sign
        self._client = KubernetesClient(settings.namespace, settings.kubeconfig)
        self._pods: Pods = AgentSandboxPods(self._client) if settings.agent_sandbox else PlainPods(self._client)
        self._suspension = Suspension()

    async def create(self, order: Order) -> None:
        """See `Backend.create`."""
        await self._client.create(SECRETS, objects.secret(self._fleet, order))
        await self._complete(await self._secret(order.id))

    async def start(self, sandbox: str) -> None:
        """See `Backend.start`."""
        secret = await self._secret(sandbox)
        pod = await self._client.get(PODS, name_of(sandbox))
        if pod and (pod_state.is_over(pod) or pod_state.is_ending(pod)):
            await self._end_in_order(sandbox)
            pod = None
        if pod is None:
            await self._complete(secret)
            if (secret["metadata"].get("annotations") or {}).get(STARTED) != "true":
                await self._client.annotate(SECRETS, name_of(sandbox), {STARTED: "true"})
            await self._pods.make(secret)
        elif pod_state.is_paused(pod):
            await self._suspension.resume(pod_state.address(pod), self._sign(sandbox), RESUME_SECONDS)
            await self._client.annotate(PODS, name_of(sandbox), {PAUSED: None})
        with suppress(TimeoutError):
            await self._wait(sandbox, START_SECONDS, self._has_begun)

    async def stop(self, sandbox: str) -> None:
        """See `Backend.stop`."""
        await self._secret(sandbox)
        pod = await self._client.get(PODS, name_of(sandbox))
        if pod is None or pod_state.is_over(pod):
            return
        if pod_state.is_paused(pod):
            with suppress(EngineError):  # programs that cannot go on are ended as they are
                await self._suspension.resume(pod_state.address(pod), self._sign(sandbox), RESUME_SECONDS)
        await self._end_in_order(sandbox)

    async def pause(self, sandbox: str) -> None:
        """See `Backend.pause`. Only the level `box` can be paused: the others refuse it."""
        await self._secret(sandbox)
        pod = await self._client.get(PODS, name_of(sandbox))
        place = pod_state.address(pod) if pod else ""
        if pod is None or not place or pod_state.is_over(pod):
            raise EngineError("the cluster has no Pod that could be paused")
        await self._suspension.suspend(place, self._sign(sandbox), SUSPEND_SECONDS)
        await self._client.annotate(PODS, name_of(sandbox), {PAUSED: "true"})

    async def delete(self, sandbox: str) -> None:
        """See `Backend.delete`. The Secret goes last: a call that was cut short is found again by it.

        A Pod that its node does not end in time is left to the cluster, which removes it with the Secret.
        """
        if await self._own(SECRETS, sandbox) is None:
            return
        with suppress(TimeoutError):
            await self._end(sandbox, DELETE_GRACE_SECONDS)
        await self._pods.forget(name_of(sandbox))
        for kind in (SERVICES, POLICIES, VOLUMES, SECRETS):
            await self._client.delete(kind, name_of(sandbox))

    async def list_all(self) -> list[Found]:
        """See `Backend.list_all`."""
        (pods, _), (secrets, _) = await asyncio.gather(
            self._client.listed(PODS, objects.selector(self._fleet)), self._client.listed(SECRETS, objects.selector(self._fleet))
        )
        by_name = {pod["metadata"]["name"]: pod for pod in pods}
        return [found for secret in secrets if (found := pod_state.found(secret, by_name.get(secret["metadata"]["name"])))]

    async def find(self, sandbox: str) -> Found | None:
        """See `Backend.find`."""
        secret, pod = await asyncio.gather(self._own(SECRETS, sandbox), self._own(PODS, sandbox))
        return pod_state.found(secret, pod) if secret else None

    async def watch(self) -> AsyncIterator[str]:
        """See `Backend.watch`."""
        seen: dict[str, Any] = {}
        async with aclosing(changes(self._client, objects.selector(self._fleet))) as told:
            async for change in told:
                before = seen.get(change.name)
                now = _gist(change.pod) if change.pod else None
                if now is None:
                    seen.pop(change.name, None)
                else:
                    seen[change.name] = now
                if before != now and not (change.listed and before is None):
                    yield change.name.removeprefix("tandem-")

    async def logs(self, sandbox: str, *, lines: int, follow: bool) -> AsyncIterator[bytes]:
        """See `Backend.logs`. They are the Pod's: those of one that was stopped are gone."""
        path = f"{self._client.path(PODS, name_of(sandbox))}/log"
        query = {"container": "sandbox", "tailLines": lines, "follow": "true" if follow else "false"}
        async with aclosing(self._client.stream(path, query, silence=None if follow else END_SECONDS)) as pieces:
            async for piece in pieces:
                yield piece

    async def examine(self) -> list[Finding]:
        """See `Backend.examine`."""
        return await examine(self._client, self._fleet, self._settings)

    async def close(self) -> None:
        """See `Backend.close`."""
        await self._suspension.close()
        await self._client.close()

    async def _own(self, kind: str, sandbox: str) -> Object | None:
        """An object of this fleet's."""
        found = await self._client.get(kind, name_of(sandbox))
        labels = (found["metadata"].get("labels") or {}) if found else {}
        return found if (labels.get(FLEET_LABEL), labels.get(ID_LABEL)) == (self._fleet, sandbox) else None

    async def _secret(self, sandbox: str) -> Object:
        secret = await self._own(SECRETS, sandbox)
        if secret is None:
            raise EngineError(f"the cluster has no sandbox {sandbox} of this fleet")
        return secret

    def _has_begun(self, pod: Object | None) -> bool:
        """Whether a Pod that was asked for runs, or will not."""
        return (pod is None and self._pods.at_once) or (pod is not None and (pod_state.is_over(pod) or bool(pod_state.address(pod))))

    async def _complete(self, secret: Object) -> None:
        """Make what is missing of all but the Pod."""
        volume = objects.volume_claim(secret, self._settings.volume_size, self._settings.storage_class)
        parts = ((VOLUMES, volume), (SERVICES, objects.service(secret)), (POLICIES, objects.network_policy(secret)))
        await asyncio.gather(*(self._client.create(kind, made) for kind, made in parts))

    async def _end_in_order(self, sandbox: str) -> None:
        """End the Pod with the time that its programs need. Raises `EngineError` where its node does not."""
        try:
            await self._end(sandbox, GRACE_SECONDS)
        except TimeoutError as error:
            raise EngineError(f"its Pod is not gone after {GRACE_SECONDS + END_SECONDS:g} s; its node may be away") from error

    async def _end(self, sandbox: str, grace: int) -> None:
        """Delete the Pod and wait until it is gone. Raises TimeoutError."""
        await self._pods.end(name_of(sandbox), grace)
        await self._wait(sandbox, grace + END_SECONDS, lambda pod: pod is None)

    async def _wait(self, sandbox: str, seconds: float, holds: Callable[[Object | None], bool]) -> None:
        """Wait until something holds of the Pod. Raises TimeoutError."""
        selector = {"fieldSelector": f"metadata.name={name_of(sandbox)}"}
        pod, listed = None, False
        async with asyncio.timeout(seconds), aclosing(changes(self._client, selector)) as told:
            async for change in told:
                pod, listed = (change.pod, listed) if change.name else (pod, True)
                if listed and holds(pod):
                    return


def _gist(pod: Object) -> tuple[object, ...]:
    """What the fleet reads of a Pod."""
    return pod_state.is_over(pod), pod_state.is_ending(pod), pod_state.is_paused(pod), pod_state.address(pod), pod_state.reason(pod)
