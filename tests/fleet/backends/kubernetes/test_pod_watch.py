"""What a watch tells when the cluster ends it, forgets a version or sends what is no event."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import pytest
from tandem_fleet.backends.kubernetes import pod_watch
from tandem_fleet.backends.kubernetes.client import KubernetesClient, Refusal
from tandem_fleet.backends.kubernetes.pod_watch import Change, changes
from tandem_fleet.errors import EngineUnreachableError

from tests.fleet.backends.kubernetes.api_server import ApiServer, until

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for between two watches."""
    monkeypatch.setattr(pod_watch, "AGAIN_SECONDS", 0.0)


@pytest.fixture
async def told(client: KubernetesClient) -> AsyncIterator[AsyncGenerator[Change]]:
    """What is told, for a minute at most."""
    async with asyncio.timeout(60), aclosing(changes(client, {})) as generator:
        yield generator


def pod(name: str, version: int = 1) -> dict[str, object]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


async def watched(told: AsyncGenerator[Change], cluster: ApiServer) -> asyncio.Task[Change]:
    """The next change, once somebody watches."""
    following = asyncio.create_task(anext(told))
    before = len(cluster.watches)
    await until(lambda: len(cluster.watches) > before and cluster.watchers)
    return following


async def named(told: AsyncGenerator[Change], count: int) -> list[tuple[str, bool, bool]]:
    changed = [await anext(told) for _ in range(count)]
    return [(one.name, one.pod is not None, one.listed) for one in changed]


async def test_what_was_there_is_told_and_then_what_changes(told: AsyncGenerator[Change], cluster: ApiServer) -> None:
    cluster.objects["pods", "a"] = pod("a")
    assert await named(told, 2) == [("a", True, True), ("", False, True)]
    following = await watched(told, cluster)
    cluster.remove("pods", "a")
    assert await following == Change("a", None)


async def test_a_watch_that_ended_goes_on_where_it_was(told: AsyncGenerator[Change], cluster: ApiServer) -> None:
    assert await named(told, 1) == [("", False, True)]
    following = await watched(told, cluster)
    cluster.tell({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "77"}}})
    cluster.tell(None)
    await until(lambda: len(cluster.watches) == 2 and cluster.watchers)
    assert cluster.watches[1] == "77"
    cluster.tell({"type": "ADDED", "object": pod("b", 78)})
    assert (await following).name == "b"


@pytest.mark.parametrize("at_once", [True, False])
async def test_where_the_version_is_too_old_all_is_listed_again(
    at_once: bool,  # a case
    told: AsyncGenerator[Change],
    cluster: ApiServer,
) -> None:
    """Whether the API server says so of the watch or in it. What went meanwhile is told, too."""
    cluster.objects["pods", "a"] = pod("a")
    cluster.objects["pods", "b"] = pod("b")
    assert await named(told, 3) == [("a", True, True), ("b", True, True), ("", False, True)]
    following = await watched(told, cluster)
    del cluster.objects["pods", "a"]
    if at_once:
        cluster.expired = 1 << 30
        cluster.tell(None)
        await until(lambda: len(cluster.watches) == 2)
        cluster.expired = 0
    else:
        cluster.tell({"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}})
    assert await following == Change("a", None)
    assert await named(told, 2) == [("b", True, True), ("", False, True)]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ADDED"},
        {"type": "ADDED", "object": {"metadata": {}}},
        {"type": "ADDED", "object": []},
        {"type": "ERROR", "object": {"code": 500, "message": "no leader"}},
        {"type": "ERROR", "object": "x"},
    ],
)
async def test_an_event_that_is_none_ends_the_watch(told: AsyncGenerator[Change], cluster: ApiServer, event: dict[str, object]) -> None:
    await named(told, 1)
    following = await watched(told, cluster)
    for watcher in cluster.watchers:
        watcher.put_nowait(event | {"type": "ERROR"} if "object" not in event else event)
    with pytest.raises(EngineUnreachableError):
        await following


async def test_an_event_without_end_ends_the_watch(
    told: AsyncGenerator[Change], cluster: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_watch, "LONGEST_EVENT", 1000)
    await named(told, 1)
    following = await watched(told, cluster)
    cluster.tell({"type": "ERROR", "object": "x" * 1_000_000})
    with pytest.raises(EngineUnreachableError):
        await following


async def test_a_watch_that_is_not_allowed_says_so(told: AsyncGenerator[Change], cluster: ApiServer) -> None:
    cluster.away = 403
    with pytest.raises(Refusal):
        await anext(told)
