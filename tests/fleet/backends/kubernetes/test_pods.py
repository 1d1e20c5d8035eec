"""Who makes a sandbox's Pod."""

import pytest
from tandem_fleet.backends.backend import Order
from tandem_fleet.backends.kubernetes import objects
from tandem_fleet.backends.kubernetes.client import KubernetesClient, Object
from tandem_fleet.backends.kubernetes.pods import AgentSandboxPods, PlainPods, agent_sandbox

from tests.fleet.backends.kubernetes.api_server import ApiServer, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def secret(order: Order) -> Object:
    made = objects.secret("fleet", order)
    made["metadata"]["uid"] = "u"
    return made


def test_a_sandbox_of_agent_sandbox_has_the_pod_that_the_fleet_would_make(secret: Object) -> None:
    made, pod = agent_sandbox(secret), objects.pod(secret)
    assert made["metadata"] == pod["metadata"]
    assert made["spec"]["podTemplate"] == {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
    assert not {key for key in pod["metadata"]["labels"] if "agents.x-k8s.io/" in key}


async def test_plain_pods_are_the_fleets(client: KubernetesClient, cluster: ApiServer, secret: Object) -> None:
    pods, name = PlainPods(client), secret["metadata"]["name"]
    for _ in range(2):
        await pods.make(secret)
    assert set(cluster.objects) == {("pods", name)}
    for _ in range(2):
        await pods.end(name, 0)
    await pods.forget(name)
    assert cluster.objects == {}


async def test_the_controller_makes_and_ends_the_pod_of_a_sandbox(client: KubernetesClient, cluster: ApiServer, secret: Object) -> None:
    pods, name = AgentSandboxPods(client), secret["metadata"]["name"]
    for _ in range(2):
        await pods.make(secret)
        await until(lambda: ("pods", name) in cluster.objects)
    for _ in range(2):
        await pods.end(name, 45)
        await until(lambda: ("pods", name) not in cluster.objects)
    assert cluster.objects["sandboxes", name]["spec"]["operatingMode"] == "Suspended"
    await pods.make(secret)
    await until(lambda: ("pods", name) in cluster.objects)
    await pods.end(name, 1)
    for _ in range(2):
        await pods.forget(name)
    await until(lambda: cluster.objects == {})
    await pods.end(name, 1)  # nothing is there any more
