"""The back end on a real cluster, where TANDEM_TEST_KUBECONFIG leads to one: `scripts/test-kubernetes-fleet` brings one up.

TANDEM_IMAGE (tandem) has to be on its nodes, and TANDEM_TEST_LEVEL (box) be a level that it allows. Pods are reached by their addresses.
"""

import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest
from tandem_fleet.backends.backend import Order
from tandem_fleet.backends.kubernetes.kubernetes_backend import KubernetesBackend
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.signing_key import ISSUER, SigningKey

from tests.fleet.backends.backend_suite import PROMISES, Promise
from tests.fleet.backends.kubernetes.conftest import settings

KUBECONFIG = os.environ.get("TANDEM_TEST_KUBECONFIG", "")
IMAGE = os.environ.get("TANDEM_IMAGE", "tandem")
LEVEL = os.environ.get("TANDEM_TEST_LEVEL", "box")
LIGHT = dict.fromkeys(("DISABLE_BROWSER", "DISABLE_JUPYTER", "DISABLE_CODE_SERVER"), "true")
pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not KUBECONFIG, reason="TANDEM_TEST_KUBECONFIG leads to no cluster")]


def kubectl(*arguments: str) -> str:
    """What kubectl prints."""
    return subprocess.run(
        ["kubectl", "--kubeconfig", KUBECONFIG, *arguments], capture_output=True, text=True, check=True, timeout=180
    ).stdout


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """A namespace that is removed."""
    made = f"tandem-test-{secrets.token_hex(4)}"
    kubectl("create", "namespace", made)
    yield made
    kubectl("delete", "namespace", made, "--wait=false")


@pytest.fixture
async def real(namespace: str, key: SigningKey) -> AsyncIterator[KubernetesBackend]:
    """A fleet's back end there."""
    given = settings(KUBECONFIG, TANDEM_NAMESPACE=namespace)
    opened = KubernetesBackend("fleet", given, lambda sandbox: key.sign(sandbox, "fleet", {"shell"}, 60))
    try:
        yield opened
        for found in await opened.list_all():
            await opened.delete(found.id)
    finally:
        await opened.close()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_a_real_cluster_keeps_what_backends_keep(promise: Promise, real: KubernetesBackend, key: SigningKey) -> None:
    spec = Spec(image=IMAGE, level=LEVEL, environment=LIGHT, memory_mb=1024)
    await promise(real, Order(new_id(), "work", "default", spec, key.key_set_json, ISSUER))


async def test_nothing_is_left(real: KubernetesBackend, namespace: str, key: SigningKey) -> None:
    """Neither by `delete`, nor where somebody removes the Secret alone: the cluster collects what it owned."""
    spec = Spec(image=IMAGE, level=LEVEL, environment=LIGHT, memory_mb=1024)
    order = Order(new_id(), "work", "default", spec, key.key_set_json, ISSUER)
    await real.create(order)
    await real.start(order.id)
    await real.delete(order.id)
    kinds = "pods,secrets,services,persistentvolumeclaims,networkpolicies"
    labelled = ("--namespace", namespace, "get", kinds, "--selector", f"tandem.id={order.id}", "--output", "name")
    assert kubectl(*labelled) == ""
    await real.create(order)
    await real.start(order.id)
    kubectl("--namespace", namespace, "delete", "secret", f"tandem-{order.id}")
    kubectl("--namespace", namespace, "wait", "--for=delete", kinds, "--selector", f"tandem.id={order.id}", "--timeout=120s")
    assert kubectl(*labelled) == ""


async def test_the_doctor_finds_that_a_fleet_can_work_there(real: KubernetesBackend) -> None:
    findings = {found.name: found for found in await real.examine()}
    assert {name: found.holds for name, found in findings.items()} == dict.fromkeys(findings, True)
    assert findings[f"level {LEVEL}"].detail.startswith("allowed")
