"""The back end against an API server in process."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tandem_fleet.backends.backend import Order, Phase
from tandem_fleet.backends.kubernetes.kubernetes_backend import KubernetesBackend
from tandem_fleet.errors import EngineError, EngineUnreachableError
from tandem_fleet.sandboxes import Spec

from tests.fleet.backends.backend_suite import PROMISES, SECONDS, Promise
from tests.fleet.backends.kubernetes.api_server import ApiServer, until
from tests.fleet.backends.kubernetes.conftest import Gateway

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("backend", ["plain", "agent-sandbox"], indirect=True)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_kubernetes_keeps_what_backends_keep(promise: Promise, backend: KubernetesBackend, order: Order) -> None:
    await promise(backend, order)


@pytest.mark.parametrize("backend", ["plain", "agent-sandbox"], indirect=True)
async def test_a_sandbox_leaves_nothing(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    assert {kind for kind, _ in cluster.objects} - {"sandboxes"} == {
        "secrets",
        "pods",
        "services",
        "networkpolicies",
        "persistentvolumeclaims",
    }
    await backend.delete(order.id)
    assert cluster.objects == {}


async def test_all_but_the_secret_is_owned_by_it(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    name = f"tandem-{order.id}"
    owners = {kind: made["metadata"].get("ownerReferences") for (kind, _), made in cluster.objects.items()}
    uid = cluster.objects["secrets", name]["metadata"]["uid"]
    assert owners.pop("secrets") is None
    assert [[(one["name"], one["uid"]) for one in found or ()] for found in owners.values()] == [[(name, uid)]] * 4


async def test_a_stopped_one_has_no_pod_and_keeps_its_volume(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    volume = cluster.objects["persistentvolumeclaims", f"tandem-{order.id}"]["metadata"]["uid"]
    await backend.stop(order.id)
    assert ("pods", f"tandem-{order.id}") not in cluster.objects
    await backend.start(order.id)
    assert cluster.objects["persistentvolumeclaims", f"tandem-{order.id}"]["metadata"]["uid"] == volume


async def test_what_somebody_removed_is_made_again_with_the_next_start(
    backend: KubernetesBackend, cluster: ApiServer, order: Order
) -> None:
    await backend.create(order)
    cluster.remove("services", f"tandem-{order.id}")
    cluster.remove("networkpolicies", f"tandem-{order.id}")
    await backend.start(order.id)
    assert {"services", "networkpolicies"} <= {kind for kind, _ in cluster.objects}


async def test_a_pause_is_asked_of_the_sandbox_with_a_token_for_it_alone(backend: KubernetesBackend, pods: Gateway, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    await backend.pause(order.id)
    await backend.start(order.id)
    assert pods.asked == [("/v1/suspend", order.id), ("/v1/resume", order.id)]


async def test_a_sandbox_that_refuses_the_pause_goes_on(backend: KubernetesBackend, pods: Gateway, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    pods.answer = (503, '{"message": "the box starts"}')
    asked = asyncio.create_task(backend.pause(order.id))
    await until(lambda: pods.asked)
    pods.answer = (409, '{"message": "a person holds the screen"}')
    async with asyncio.timeout(SECONDS):
        with pytest.raises(EngineError, match="a person holds the screen"):
            await asked
    found = await backend.find(order.id)
    assert found
    assert found.phase == Phase.RUNNING


async def test_a_paused_one_whose_gateway_is_gone_is_stopped(backend: KubernetesBackend, pods: Gateway, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    await backend.pause(order.id)
    pods.answer = (400, "")
    await backend.stop(order.id)
    found = await backend.find(order.id)
    assert found
    assert found.phase == Phase.STOPPED


async def test_one_that_ended_by_itself_says_why_and_starts_again(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    ended = {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}
    cluster.change("pods", f"tandem-{order.id}", status=ended)
    found = await backend.find(order.id)
    assert found
    assert (found.phase, found.reason, found.address) == (Phase.STOPPED, "it ended with exit code 137 (OOMKilled)", "")
    await backend.start(order.id)
    again = await backend.find(order.id)
    assert again
    assert again.phase == Phase.RUNNING


async def test_another_fleets_sandbox_is_neither_seen_nor_touched(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    name = f"tandem-{order.id}"
    cluster.objects["secrets", name]["metadata"]["labels"]["tandem.fleet"] = "another"
    assert await backend.find(order.id) is None
    await backend.delete(order.id)
    assert ("secrets", name) in cluster.objects
    with pytest.raises(EngineError, match="no sandbox"):
        await backend.create(order)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_cluster_that_is_away_is_no_refusal(status: int, backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    cluster.away = status
    with pytest.raises(EngineUnreachableError):
        await backend.create(order)


async def test_a_refusal_says_what_the_cluster_said(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    cluster.forbidden.add("create secrets")
    with pytest.raises(EngineError, match="cannot create resource") as refused:
        await backend.create(order)
    assert not isinstance(refused.value, EngineUnreachableError)


async def test_a_watch_tells_each_change_once_and_of_no_other_fleet(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    told: Any = backend.watch()
    name = f"tandem-{order.id}"
    following = asyncio.create_task(anext(told))
    await until(lambda: cluster.watchers)
    cluster.change("pods", name)  # nothing that the fleet reads
    cluster.tell(
        {"type": "MODIFIED", "object": {"metadata": {"name": "tandem-other", "resourceVersion": "9", "labels": {"tandem.fleet": "b"}}}}
    )
    cluster.remove("pods", name)
    async with asyncio.timeout(SECONDS):
        assert await following == order.id
    await told.aclose()


async def test_logs_are_the_last_lines_of_the_pod(backend: KubernetesBackend, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    assert b"".join([piece async for piece in backend.logs(order.id, lines=2, follow=False)]) == b"line 0\nline 1\n"
    await backend.stop(order.id)
    with pytest.raises(EngineError, match="not found"):
        assert [piece async for piece in backend.logs(order.id, lines=2, follow=False)]


async def test_a_name_that_is_a_path_reaches_nothing_else(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    assert await backend.find("../secrets/tandem-" + order.id) is None
    await backend.delete(f"../../{order.id}")
    assert cluster.objects


async def test_a_secret_that_is_not_whole_is_no_sandbox(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    await backend.create(order)
    cluster.objects["secrets", f"tandem-{order.id}"]["data"] = {"spec.json": "bm8="}
    assert await backend.list_all() == []


async def test_a_list_has_all_pages(backend: KubernetesBackend, cluster: ApiServer, order: Order) -> None:
    cluster.page = 2
    orders = [replace(order, id=f"{order.id[:-1]}{letter}", spec=Spec(image=letter)) for letter in "abcde"]
    for one in orders:
        await backend.create(one)
    assert {found.spec.image for found in await backend.list_all()} == set("abcde")
