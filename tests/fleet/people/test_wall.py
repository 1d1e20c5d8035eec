"""The wall of a tenant: pages, the queue, claims and answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.people import wall as module
from tandem_fleet.people.wall import Wall
from tandem_fleet.people.wall_page import WallEvent
from tandem_fleet.sandboxes import State
from tandem_fleet.store.people import PeopleStore

from tests.fleet.people.sandboxes import Sandboxes
from tests.fleet.stub_sandbox import StubSandbox, control, handoff, serving
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
SECONDS = 30


class Page:
    """An open page."""

    def __init__(self, events: AsyncIterator[WallEvent]) -> None:
        self.events = events
        self.number = ""
        self.queue: list[Any] = []

    async def first(self) -> dict[str, Any]:
        """All that it shows at first."""
        told: dict[str, Any] = await self.next("wall")
        self.number, self.queue = told["page"], told["queue"]
        return told

    async def asked(self) -> Any:
        """What is asked, once there is something."""
        return self.queue or await self.next("queue", bool)

    async def next(self, name: str, holds: Any = lambda _: True) -> Any:
        """The next event of a name for which something holds."""
        async with asyncio.timeout(SECONDS):
            async for event in self.events:
                if event.name == name and holds(event.data):
                    return event.data
        raise AssertionError(name)


@asynccontextmanager
async def open_page(wall: Wall, session: str = "one", tenant: str = "default") -> AsyncIterator[Page]:
    """A page that is closed in the end."""
    events = wall.events(tenant, session)
    try:
        yield Page(events)
    finally:
        await events.aclose()  # type: ignore[attr-defined] # a generator


async def test_a_page_shows_all_and_hears_what_changes(wall: Wall, sandboxes: Sandboxes, stub: StubSandbox) -> None:
    one = await sandboxes.add(stub.address, team="a")
    stub.handoffs = [handoff()]
    async with open_page(wall) as page:
        [tile] = (await page.first())["tiles"]
        assert (tile["name"], tile["state"], tile["labels"], tile["picture"]) == ("work", "ready", {"team": "a"}, "")
        assert (await page.asked())[0]["sandbox"] == one.id
        stub.control = control("human", "Ann")
        stub.tell()
        await page.next("tile", lambda told: told["driver"] and told["driver"]["holder"] == "Ann")
        await sandboxes.store.change(one.id, state=State.PAUSED)
        await page.next("tile", lambda told: told["state"] == "paused")
        await page.next("queue", lambda told: told == [])
        await sandboxes.store.change(one.id, state=State.DELETED)
        assert await page.next("gone") == {"id": one.id}
        new = await sandboxes.add(stub.address, "new")
        assert (await page.next("tile"))["id"] == new.id


async def test_pictures_are_taken_of_what_is_in_sight_alone(wall: Wall, sandboxes: Sandboxes, stub: StubSandbox) -> None:
    one = await sandboxes.add(stub.address)
    async with serving(StubSandbox()) as unseen, open_page(wall) as page:
        other = await sandboxes.add(unseen.address, "other")
        await page.first()
        await wall.see("default", page.number, frozenset({one.id, "of-nobody"}))
        told = await page.next("tile", lambda told: told["picture"])
        assert (await wall.picture(one)).version == told["picture"]
        assert unseen.captures == 0
        assert (await wall.picture(other)).content  # who asks for it by hand gets one
    with pytest.raises(NotFoundError):
        await wall.see("default", page.number, frozenset())


async def test_a_tenant_sees_and_touches_nothing_of_another(wall: Wall, sandboxes: Sandboxes, stub: StubSandbox) -> None:
    one = await sandboxes.add(stub.address)
    stub.handoffs = [handoff()]
    async with open_page(wall) as page, open_page(wall, tenant="other") as theirs:
        await page.first()
        assert (await page.asked())[0]["id"] == f"{one.id}.h-1"
        told = await theirs.first()
        assert (told["tiles"], told["queue"]) == ([], [])
        await wall.see("other", theirs.number, frozenset({one.id}))
        with pytest.raises(NotFoundError):
            await wall.see("other", page.number, frozenset())
        for act in (
            wall.claim("other", f"{one.id}.h-1", "eve", "s"),
            wall.answer("other", f"{one.id}.h-1", "eve", "s", {"outcome": "done"}),
        ):
            with pytest.raises(NotFoundError):
                await act
    assert stub.captures == 0


async def test_one_person_claims_a_question_and_answers_it_under_that_name(
    wall: Wall, sandboxes: Sandboxes, stub: StubSandbox, people: PeopleStore
) -> None:
    one = await sandboxes.add(stub.address)
    stub.handoffs = [handoff()]
    number = f"{one.id}.h-1"
    async with open_page(wall, "mia") as page:
        await page.first()
        await page.asked()
        assert (await wall.claim("default", number, "ann", "ann's")).mine
        assert (await page.next("queue", lambda told: told[0]["claimed_by"]))[0]["mine"] is False
        for act in (wall.claim("default", number, "mia", "mia"), wall.answer("default", number, "mia", "mia", {"outcome": "done"})):
            with pytest.raises(ConflictError, match="ann has claimed this"):
                await act
        with pytest.raises(ConflictError, match="cannot be answered so"):
            await wall.answer("default", number, "ann", "ann's", {"outcome": "always"})
        await wall.answer("default", number, "ann", "ann's", {"outcome": "done"})
    [answered] = stub.came("POST /v1/handoffs/h-1/answer")
    assert answered.body == {"outcome": "done"}
    assert await people.claims("default") == []


@pytest.mark.parametrize(("status", "body"), [(409, {"message": "closed"}), (500, b"\xff"), (403, []), (302, {})])
async def test_what_the_sandbox_refuses_is_a_conflict(wall: Wall, sandboxes: Sandboxes, stub: StubSandbox, status: int, body: Any) -> None:
    one = await sandboxes.add(stub.address)
    stub.handoffs = [handoff()]
    stub.answers["POST /"] = (status, body)
    assert await wall.queue("default", "s")
    with pytest.raises(ConflictError):
        await wall.answer("default", f"{one.id}.h-1", "ann", "s", {"outcome": "cannot"})
    with pytest.raises(ConflictError, match="no ticket"):
        await wall.link(one, "ann")


async def test_a_link_opens_the_live_page_of_one_that_runs(wall: Wall, sandboxes: Sandboxes, stub: StubSandbox) -> None:
    one = await sandboxes.add(stub.address)
    assert await wall.link(one, "ann") == f"{stub.address}/view?ticket=the-ticket"
    assert "admin" not in stub.came("POST /tickets")[0].body["scopes"]
    with pytest.raises(ConflictError, match="is paused"):
        await wall.link(await sandboxes.store.change(one.id, state=State.PAUSED), "ann")


async def test_a_ticket_that_is_none_is_put_into_no_link(wall: Wall, sandboxes: Sandboxes, stub: StubSandbox) -> None:
    one = await sandboxes.add(stub.address)
    for ticket in ("", "a b", "a&b=c", "\r\nx", 7, None, "x" * 10_000, "<"):
        stub.answers["POST /tickets"] = (200, {"ticket": ticket})
        if ticket != 7:
            with pytest.raises(ConflictError):
                await wall.link(one, "ann")


async def test_one_that_hangs_holds_up_no_other(
    wall: Wall, sandboxes: Sandboxes, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.5)
    async with serving(StubSandbox(hangs=True)) as hung:
        await sandboxes.add(hung.address, "hung")
        await sandboxes.add(stub.address)
        stub.handoffs = [handoff()]
        async with asyncio.timeout(10):
            assert len(await wall.queue("default", "s")) == 1


async def test_nothing_is_followed_that_nobody_looks_at(
    wall: Wall, sandboxes: Sandboxes, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINGER_SECONDS", 0.05)
    await sandboxes.add(stub.address)
    assert stub.requests == []
    async with open_page(wall) as page:
        await page.first()
        await eventually(lambda: stub.came("GET /v1/handoffs"))
    await eventually(lambda: not wall._watches)


async def test_a_page_too_many_is_refused(wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAGES", 1)
    wall.require_room("default")
    async with open_page(wall) as page:
        await page.first()
        with pytest.raises(ConflictError, match="1 pages"):
            wall.require_room("default")
        wall.require_room("other")
