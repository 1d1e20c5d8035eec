"""The wall over HTTP."""

import json
from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from tandem_fleet.api.authorization import Caller, Scope
from tandem_fleet.api.wall import event_lines
from tandem_fleet.fleet import Fleet
from tandem_fleet.people import wall as people_wall
from tandem_fleet.sandboxes import Desired, Sandbox

from tests.fleet.api.calling import client
from tests.fleet.api.test_authorization import Known
from tests.fleet.engines import MemoryBackend
from tests.fleet.stub_sandbox import StubSandbox, jpeg, serving
from tests.fleet.test_fleet import ready
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stub(engine: MemoryBackend) -> AsyncIterator[StubSandbox]:
    """What every sandbox of these tests is."""
    async with serving(StubSandbox()) as served:
        engine.address = served.address
        yield served


@pytest.fixture
async def work(stub: StubSandbox, fleet: Fleet) -> Sandbox:
    """A sandbox that is ready."""
    return await ready(fleet)


async def test_events_are_server_sent_events(fleet: Fleet, work: Sandbox) -> None:
    lines = event_lines(fleet, Caller())
    name, data = (await anext(lines)).decode().strip().split("\n")
    assert name == "event: wall"
    assert [tile["id"] for tile in json.loads(data.removeprefix("data: "))["tiles"]] == [work.id]
    await lines.aclose()  # type: ignore[attr-defined] # a generator


async def test_who_is_cut_off_leaves_nothing_behind(
    fleet: Fleet, work: Sandbox, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_wall, "LINGER_SECONDS", 0.05)

    async def read() -> None:
        async with client(fleet) as http, http.stream("GET", "/v1/wall/events"):
            pass

    with anyio.move_on_after(0.5):
        await read()
    await eventually(lambda: not fleet.wall._watches)
    seen = len(stub.requests)
    await fleet.order("default", "work", Desired.PAUSED)
    assert len(stub.requests) == seen


async def test_a_picture_is_nothing_but_a_picture_and_is_not_sent_twice(http: httpx2.AsyncClient, work: Sandbox, stub: StubSandbox) -> None:
    first = await http.get("/v1/sandboxes/work/picture")
    assert (first.status_code, first.headers["content-type"], first.content) == (200, "image/jpeg", stub.picture)
    assert first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["content-security-policy"].startswith("sandbox")
    again = await http.get("/v1/sandboxes/work/picture", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("picture", [b"<script>", b"", jpeg(5000, 5000), b"\xff\xd8" + b"x" * 1_000_000])
async def test_what_is_no_picture_is_not_there(http: httpx2.AsyncClient, work: Sandbox, stub: StubSandbox, picture: bytes) -> None:
    stub.picture = picture
    assert (await http.get("/v1/sandboxes/work/picture")).status_code == 404


async def test_a_link_is_for_who_may_use_sandboxes(http: httpx2.AsyncClient, fleet: Fleet, work: Sandbox, stub: StubSandbox) -> None:
    assert (await http.put("/v1/sandboxes/work/link")).json() == {"link": f"{stub.address}/view?ticket=the-ticket", "seconds": 30}
    async with client(fleet, Known(Caller(scopes=frozenset({Scope.PEOPLE})))) as person:
        assert (await person.put("/v1/sandboxes/work/link")).status_code == 403


@pytest.mark.parametrize(
    ("body", "status"), [({"page": "none", "sandboxes": []}, 404), ({}, 422), ({"page": "x", "sandboxes": ["y"] * 201}, 422), ([], 422)]
)
async def test_sight_of_no_page_is_refused(http: httpx2.AsyncClient, body: object, status: int) -> None:
    assert (await http.put("/v1/wall/sight", json=body)).status_code == status
