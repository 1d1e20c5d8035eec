"""A whole fleet on a cluster in process: what it asks for comes true, and what it forgot it finds again."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tandem_fleet import reconciler
from tandem_fleet.backends.kubernetes.kubernetes_backend import KubernetesBackend
from tandem_fleet.errors import EngineUnreachableError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Spec, State
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database

from tests.fleet.backends.kubernetes.api_server import ApiServer, until
from tests.fleet.backends.kubernetes.conftest import settings

pytestmark = pytest.mark.anyio
SECONDS = 60
SPEC = Spec(image="image", environment={"KEY": "value"})
MakeFleet = Callable[[str], Fleet]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "RESYNC_SECONDS", 0.1)
    monkeypatch.setattr(reconciler, "RETRY_SECONDS", 0.1)


@pytest.fixture(params=["plain", "agent-sandbox"])
def make(kubeconfig: str, key: SigningKey, tmp_path: Path, request: pytest.FixtureRequest) -> MakeFleet:
    """A fleet as a process of its own would have it, with a store of that name."""

    def made(store: str) -> Fleet:
        given = settings(kubeconfig, TANDEM_PODS=request.param)
        backend = KubernetesBackend("fleet", given, lambda sandbox: key.sign(sandbox, "fleet", {"shell"}, 60))
        return Fleet(Database(f"sqlite+aiosqlite:///{tmp_path}/{store}.db"), backend, key, "image")

    return made


async def told(fleet: Fleet, desired: Desired) -> State:
    """What a sandbox becomes when it is told to."""
    sandbox = await fleet.order("default", "work", desired)
    return (await fleet.settle(sandbox.id, SECONDS)).state


async def test_a_sandbox_lives_and_leaves_nothing(make: MakeFleet, cluster: ApiServer) -> None:
    async with make("store") as fleet:
        one = await fleet.settle((await fleet.create("default", SPEC, name="work")).id, SECONDS)
        assert (one.state, one.address) == (State.READY, f"http://{cluster.address}:8080")
        for desired, state in (
            (Desired.PAUSED, State.PAUSED),
            (Desired.RUNNING, State.READY),
            (Desired.STOPPED, State.STOPPED),
            (Desired.RUNNING, State.READY),
            (Desired.DELETED, State.DELETED),
        ):
            assert await told(fleet, desired) == state
    assert cluster.objects == {}


async def test_a_pod_that_somebody_removed_is_made_again(make: MakeFleet, cluster: ApiServer) -> None:
    async with make("store") as fleet:
        one = await fleet.settle((await fleet.create("default", SPEC, name="work")).id, SECONDS)
        before = cluster.objects["pods", f"tandem-{one.id}"]["metadata"]["uid"]
        cluster.remove("pods", f"tandem-{one.id}")
        cluster.control()
        await until(lambda: cluster.objects.get(("pods", f"tandem-{one.id}"), {}).get("metadata", {}).get("uid") not in (None, before))
        assert (await fleet.settle(one.id, SECONDS)).state == State.READY


async def test_a_store_that_was_lost_is_filled_from_the_cluster(make: MakeFleet) -> None:
    async with make("store") as fleet:
        one = await fleet.settle((await fleet.create("default", SPEC, name="work")).id, SECONDS)
    async with make("another") as fleet:
        again = await fleet.find("default", "work")
        assert (again.id, again.spec) == (one.id, one.spec)
        assert await told(fleet, Desired.DELETED) == State.DELETED


async def test_one_that_is_killed_at_any_call_makes_each_once_and_loses_none(make: MakeFleet, cluster: ApiServer) -> None:
    """Its process ends after one call more each time; the next one goes on."""
    names = []
    for calls in range(1, 8):
        async with make("store") as fleet:
            before = cluster.answered
            await fleet.create("default", SPEC, name=f"k{calls}")
            names.append(f"k{calls}")
            await until(lambda before=before, calls=calls: cluster.answered >= before + calls)  # type: ignore[misc]
    async with make("store") as fleet:
        found = [await fleet.find("default", name) for name in names]
        ready = await asyncio.gather(*(fleet.settle(one.id, SECONDS) for one in found))
        assert {one.state for one in ready} == {State.READY}
        kinds = [kind for kind, _ in cluster.objects]
        assert {kind: kinds.count(kind) for kind in ("secrets", "pods", "persistentvolumeclaims")} == dict.fromkeys(
            ("secrets", "pods", "persistentvolumeclaims"), len(names)
        )


async def test_a_cluster_that_is_away_leaves_no_connection_open(make: MakeFleet, cluster: ApiServer) -> None:
    cluster.away = 503
    with pytest.raises(EngineUnreachableError, match="does not answer"):
        async with make("store"):
            pass
