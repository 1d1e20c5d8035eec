"""Sandboxes end when their time is over."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.e2b.deadlines import Deadlines
from tandem_fleet.e2b.origin import LABEL, Origin
from tandem_fleet.e2b.service import E2B
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State
from tandem_fleet.store.e2b import DeadlineStore

pytestmark = pytest.mark.anyio
PAST = datetime(2026, 1, 1, tzinfo=UTC)


async def made(fleet: Fleet, origin: Origin | None) -> Sandbox:
    """A sandbox that is ready."""
    labels = {LABEL: origin.model_dump_json()} if origin else {}
    return await fleet.settle((await fleet.create("default", Spec(image="image", labels=labels))).id, 60)


async def becomes(fleet: Fleet, sandbox: Sandbox, state: State) -> None:
    """Wait until a sandbox is in a state."""
    async for event in fleet.events("default", 0):
        if (event.sandbox.id, event.sandbox.state) == (sandbox.id, state):
            return


@pytest.mark.parametrize(
    ("origin", "state"),
    [
        (Origin(), State.DELETED),
        (Origin(pauses=True), State.PAUSED),
        (Origin(pauses=True, keeps_memory=False), State.STOPPED),
    ],
)
async def test_a_sandbox_ends_as_it_was_asked_for(fleet: Fleet, e2b: E2B, origin: Origin, state: State) -> None:
    store, one = DeadlineStore(fleet.database), await made(fleet, origin)
    await store.set(one.id, datetime.now(UTC) + timedelta(hours=1))
    await store.set(one.id, datetime.now(UTC))
    await becomes(fleet, one, state)
    assert await store.get(one.id) is None


async def test_an_end_holds_over_a_restart(make_fleet: Callable[[], Fleet]) -> None:
    async with make_fleet() as fleet:
        one, other = await made(fleet, Origin()), await made(fleet, Origin())
        await DeadlineStore(fleet.database).set(one.id, PAST)
        await DeadlineStore(fleet.database).set(other.id, datetime.now(UTC) + timedelta(hours=1))
    async with make_fleet() as fleet, E2B(fleet):
        await becomes(fleet, one, State.DELETED)
        assert (await fleet.get(other.id)).state == State.READY


async def test_one_whose_maker_was_killed_gets_its_end(fleet: Fleet) -> None:
    store = DeadlineStore(fleet.database)
    lost, other, old = await made(fleet, Origin(timeout=600)), await made(fleet, None), await made(fleet, Origin(timeout=0))
    deadlines = Deadlines(fleet, store)
    await deadlines.start()
    await deadlines.stop()
    assert await store.get(lost.id) == lost.created_at + timedelta(seconds=600)
    assert await store.get(other.id) is None
    assert await store.get(old.id) is not None


async def test_what_cannot_be_ended_now_is_tried_again(fleet: Fleet) -> None:
    store = DeadlineStore(fleet.database)
    starting = await fleet.create("default", Spec(image="image", labels={LABEL: Origin(pauses=True).model_dump_json()}))
    await store.set(starting.id, PAST)
    await store.set("unknown", PAST)
    await Deadlines(fleet, store).end_due()
    assert await store.get("unknown") is None
    again = await store.get(starting.id)
    assert again is not None
    assert again > datetime.now(UTC)
    await fleet.settle(starting.id, 60)
    await fleet.order("default", starting.id, Desired.PAUSED)
    await fleet.settle(starting.id, 60)
    await store.set(starting.id, PAST)
    await Deadlines(fleet, store).end_due()
    assert ((await fleet.get(starting.id)).desired, await store.get(starting.id)) == (Desired.PAUSED, None)


async def test_a_label_that_means_no_time_ends_nothing(fleet: Fleet) -> None:
    labels = {LABEL: '{"timeout": 1000000000000}'}
    one = await fleet.settle((await fleet.create("default", Spec(image="image", labels=labels))).id, 60)
    deadlines = Deadlines(fleet, DeadlineStore(fleet.database))
    await deadlines.start()
    await deadlines.stop()
    assert await DeadlineStore(fleet.database).get(one.id) is None


async def test_an_end_that_somebody_put_off_meanwhile_is_not_kept_to(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    store, one, later = DeadlineStore(fleet.database), await made(fleet, Origin()), datetime.now(UTC) + timedelta(hours=1)
    await store.set(one.id, PAST)
    first = store.first

    async def put_off(limit: int) -> list[tuple[str, datetime]]:
        read = await first(limit)
        await store.set(one.id, later)
        return read

    monkeypatch.setattr(store, "first", put_off)
    await Deadlines(fleet, store).end_due()
    assert ((await fleet.get(one.id)).desired, await store.get(one.id)) == (Desired.RUNNING, later)
    await store.forget(one.id, until=PAST)
    assert await store.get(one.id) == later
