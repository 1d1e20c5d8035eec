"""Operations on snapshots, and forks."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client
from tests.fleet.test_fleet import ready
from tests.fleet.test_snapshots import fleet, gateway, make_fleet

pytestmark = pytest.mark.anyio
__all__ = ["fleet", "gateway", "make_fleet"]


@pytest.fixture
async def http(fleet: Fleet) -> AsyncIterator[httpx2.AsyncClient]:
    """A caller of that fleet."""
    async with client(fleet) as opened:
        yield opened


async def test_a_snapshot_is_made_listed_restored_and_removed(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    made = await http.post("/v1/sandboxes/work/snapshots", json={"label": "before"}, params={"wait": 60})
    assert (made.status_code, made.json()["state"], made.json()["label"]) == (201, "ready", "before")
    number = made.json()["id"]
    assert [one["id"] for one in (await http.get("/v1/snapshots")).json()["snapshots"]] == [number]
    copy = await http.post(f"/v1/snapshots/{number}/restore", json={"name": "copy"}, params={"wait": 60})
    assert (copy.status_code, copy.json()["state"], copy.json()["name"]) == (201, "ready", "copy")
    assert (await http.delete(f"/v1/snapshots/{number}")).status_code == 204
    assert (await http.get(f"/v1/snapshots/{number}")).status_code == 404


async def test_one_is_forked(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    await ready(fleet)
    made = await http.post("/v1/sandboxes/work/fork", json={"count": 3}, params={"wait": 60})
    assert (made.status_code, [one["state"] for one in made.json()["sandboxes"]]) == (201, ["ready"] * 3)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/sandboxes/none/snapshots", {}, 404),
        ("/v1/sandboxes/work/snapshots", {"label": "x" * 201}, 422),
        ("/v1/sandboxes/work/fork", {"count": 0}, 422),
        ("/v1/sandboxes/work/fork", {"count": 101}, 422),
        ("/v1/snapshots/none/restore", {}, 404),
        ("/v1/snapshots/none/restore", {"name": "A"}, 422),
    ],
)
async def test_bad_input_is_answered_with_its_reason(http: httpx2.AsyncClient, fleet: Fleet, path: str, body: object, status: int) -> None:
    await ready(fleet)
    answer = await http.post(path, json=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
