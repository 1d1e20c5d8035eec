"""Who makes a sandbox's Pod: the fleet itself, or the controller of agent-sandbox for an object `Sandbox`."""

from typing import Protocol

from tandem_fleet.backends.kubernetes import objects
from tandem_fleet.backends.kubernetes.client import KubernetesClient, Object, nothing_to_do

PODS = objects.PODS
SANDBOXES = "agents.x-k8s.io/v1beta1/sandboxes"


class Pods(Protocol):
    """Every call may be repeated. None waits for what it asked for."""

    at_once: bool
    """Whether a Pod is there when `make` has returned."""

    async def make(self, secret: Object) -> None:
        """Have the Pod of a sandbox, which its Secret describes, be made. One that is there is left as it is."""

    async def end(self, name: str, grace: int) -> None:
        """Have the Pod end, with so many seconds to do it in order."""

    async def forget(self, name: str) -> None:
        """Remove what would make it again."""


class PlainPods:
    """The fleet makes Pods."""

    at_once = True

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    async def make(self, secret: Object) -> None:
        """See `Pods.make`."""
        await self._client.create(PODS, objects.pod(secret))

    async def end(self, name: str, grace: int) -> None:
        """See `Pods.end`."""
        await self._client.delete(PODS, name, grace=grace)

    async def forget(self, name: str) -> None:
        """See `Pods.forget`."""


class AgentSandboxPods:
    """The controller makes Pods: a `Sandbox` of the mode Running has one, and one of the mode Suspended has none."""

    at_once = False

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    async def make(self, secret: Object) -> None:
        """See `Pods.make`."""
        await self._client.create(SANDBOXES, agent_sandbox(secret))
        await self._set(secret["metadata"]["name"], "Running")

    async def end(self, name: str, grace: int) -> None:
        """See `Pods.end`. The controller deletes the Pod; the fleet does it as well, with the grace."""
        with nothing_to_do(404):
            await self._set(name, "Suspended")
        await self._client.delete(PODS, name, grace=grace)

    async def forget(self, name: str) -> None:
        """See `Pods.forget`."""
        await self._client.delete(SANDBOXES, name)

    async def _set(self, name: str, mode: str) -> None:
        await self._client.patch(SANDBOXES, name, {"spec": {"operatingMode": mode}})


def agent_sandbox(secret: Object) -> Object:
    """The object `Sandbox`. Volume, Service and policy stay the fleet's, so that they are the same either way."""
    pod = objects.pod(secret)
    metadata = pod["metadata"]
    return {
        "apiVersion": "agents.x-k8s.io/v1beta1",
        "kind": "Sandbox",
        "metadata": metadata,
        "spec": {"podTemplate": {"metadata": {"labels": metadata["labels"]}, "spec": pod["spec"]}, "operatingMode": "Running"},
    }
