"""The queue over HTTP."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from tandem_fleet.api.authorization import Caller, Scope
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Spec

from tests.fleet.api.calling import client
from tests.fleet.api.test_authorization import Known
from tests.fleet.engines import MemoryBackend
from tests.fleet.stub_sandbox import StubSandbox, handoff, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stub(engine: MemoryBackend, fleet: Fleet) -> AsyncIterator[StubSandbox]:
    """A sandbox that asks."""
    async with serving(StubSandbox(handoffs=[handoff()])) as served:
        engine.address = served.address
        made = await fleet.create("default", Spec(image="image", labels={"skill": "german", "team": "a=b"}), name="work")
        await fleet.settle(made.id, 60)
        yield served


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 1),
        ("kind=confirm", 1),
        ("kind=login", 0),
        ("skill=german", 1),
        ("skill=", 0),
        ("label=team=a=b&skill=german", 1),
        ("label=team=a", 0),
    ],
)
async def test_the_queue_is_filtered(http: httpx2.AsyncClient, stub: StubSandbox, query: str, count: int) -> None:
    assert len((await http.get(f"/v1/queue?{query}")).json()["questions"]) == count


async def test_one_is_claimed_released_and_answered(http: httpx2.AsyncClient, fleet: Fleet, stub: StubSandbox) -> None:
    [question] = (await http.get("/v1/queue")).json()["questions"]
    place = f"/v1/queue/{question['id']}"
    assert (await http.post(f"{place}/claim")).json()["claimed_by"] == "operator"
    async with client(fleet, Known(Caller(name="mia", scopes=frozenset({Scope.PEOPLE})))) as mia:
        refused = await mia.post(f"{place}/claim")
        assert (refused.status_code, refused.json()["error"]["message"]) == (409, "operator has claimed this")
        assert (await http.post(f"{place}/release")).status_code == 204
        assert (await mia.post(f"{place}/answer", json={"outcome": "done", "note": "fine"})).status_code == 204
    [answered] = stub.came("POST /v1/handoffs/h-1/answer")
    assert answered.body == {"outcome": "done", "note": "fine"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("none/claim", None, 404),
        ("none/answer", {"outcome": "done"}, 404),
        ("none/answer", {}, 422),
        ("%00/claim", None, 422),
        ("none/answer", {"outcome": "x" * 41}, 422),
        ("none/explode", None, 404),
        ("none/release", None, 404),
    ],
)
async def test_bad_input_is_refused(http: httpx2.AsyncClient, stub: StubSandbox, path: str, body: object, status: int) -> None:
    assert (await http.post(f"/v1/queue/{path}", json=body)).status_code == status
    assert (await http.get("/v1/queue?label=nothing")).status_code == 422
