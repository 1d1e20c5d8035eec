"""Quotas: shares of programs, and places that people get in any case."""

import asyncio

import pytest

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.quota import Quota, Reservation, run_unless_evicted

pytestmark = pytest.mark.anyio


@pytest.fixture
def quota() -> Quota:
    return Quota("places", 6, programs=4, each=3)


def fill(quota: Quota, name: str, count: int, *, person: bool = False) -> tuple[list[Reservation], list[str]]:
    """Places of one caller, and who of them was told to go."""
    gone: list[str] = []
    return [quota.take(name, person=person, leave=lambda: gone.append(name)) for _ in range(count)], gone


def test_a_program_cannot_take_what_is_left_for_others(quota: Quota) -> None:
    fill(quota, "agent", 3)
    with pytest.raises(ResourceExhausted, match="agent has reached its limit of 3 places") as refused:
        quota.take("agent", person=False)
    assert (refused.value.retry_after, refused.value.details) == (1.0, {"limit": 6})
    quota.take("other", person=False)
    with pytest.raises(ResourceExhausted, match="programs have reached their limit of 4 of 6 places"):
        quota.take("other", person=False)


def test_whoever_uses_a_programs_tickets_is_that_program(quota: Quota) -> None:
    for number in range(3):
        quota.take(f"agent#{number}", person=False)
    with pytest.raises(ResourceExhausted):
        quota.take("agent#3", person=False)


def test_what_is_given_back_is_there_again(quota: Quota) -> None:
    (first, *_), _ = fill(quota, "agent", 3)
    with first:
        pass
    first.close()
    assert quota.taken == 2
    quota.take("agent", person=False)


def test_a_person_takes_the_place_of_the_program_that_came_first(quota: Quota) -> None:
    _, gone = fill(quota, "agent", 3)
    people, _ = fill(quota, "ann#1", 3, person=True)
    assert gone == []
    more, _ = fill(quota, "ann#1", 2, person=True)
    assert gone == ["agent", "agent"]
    assert quota.taken == 6
    assert not any(place.evicted for place in people + more)


def test_a_place_that_nobody_can_be_told_to_leave_is_kept(quota: Quota) -> None:
    for _ in range(3):
        quota.take("agent", person=False)
    fill(quota, "ann#1", 3, person=True)
    with pytest.raises(ResourceExhausted, match="no one has more of them than you"):
        quota.take("ann#1", person=True)


def test_among_people_the_one_with_most_makes_room_until_both_have_as_many(quota: Quota) -> None:
    _, ann = fill(quota, "ann#1", 6, person=True)
    fill(quota, "bob#2", 3, person=True)
    assert ann == ["ann#1"] * 3
    with pytest.raises(ResourceExhausted):
        quota.take("bob#2", person=True)
    with pytest.raises(ResourceExhausted):
        quota.take("ann#1", person=True)


def test_a_program_never_takes_the_place_of_anybody(quota: Quota) -> None:
    _, gone = fill(quota, "ann#1", 6, person=True)
    with pytest.raises(ResourceExhausted):
        quota.take("agent", person=False)
    assert gone == []


def test_a_share_leaves_something_for_the_others() -> None:
    for programs, each in ((6, 3), (4, 5), (4, 0)):
        with pytest.raises(ValueError, match="places"):
            Quota("places", 6, programs=programs, each=each)


async def test_who_wants_more_waits_until_it_is_given_back(quota: Quota) -> None:
    place = quota.take("agent", person=False, size=3)
    waiting = asyncio.create_task(quota.take("agent", person=False, size=0).grow(2, 5))
    await asyncio.sleep(0)
    assert not waiting.done()
    place.shrink(1)
    await waiting
    assert quota.taken == 3


async def test_who_waits_in_vain_has_what_it_had(quota: Quota) -> None:
    quota.take("other", person=False, size=3)
    place = quota.take("agent", person=False)
    with pytest.raises(ResourceExhausted):
        await place.grow(1, 0.01)
    assert place.size == 1


async def test_what_a_place_is_for_ends_with_it() -> None:
    evicted, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    serving = asyncio.create_task(run_unless_evicted(evicted, work()))
    await asyncio.sleep(0)
    evicted.set()
    with pytest.raises(ResourceExhausted, match="a person needed your slot"):
        await serving
    assert ended.is_set()


async def test_work_that_ends_by_itself_gives_its_result() -> None:
    assert await run_unless_evicted(asyncio.Event(), asyncio.sleep(0, "done")) == "done"
