"""A viewer is told what is done from now on, and nothing of another lease."""

import asyncio

import pytest

from sandbox_server.stream.acting import Acting
from sandbox_server.stream.acts import LEFT, Acts

pytestmark = pytest.mark.anyio


class Place:
    """A screen on which somebody clicks; `held` holds up who asks how often."""

    def __init__(self) -> None:
        self.acts = Acts()
        self.held = asyncio.Event()
        self.held.set()
        self.asked = asyncio.Event()

    def click(self) -> None:
        self.acts.pressed(LEFT, (1, 1), 0)

    async def count_acts(self) -> int:
        number = self.acts.after(0)[0]
        self.asked.set()
        await self.held.wait()
        return number


async def test_what_was_done_before_it_began_is_not_told() -> None:
    place = Place()
    place.click()
    acting = Acting(place)
    assert await acting.news() == ()
    place.click()
    assert len(await acting.news()) == 1
    assert await acting.news() == ()


async def test_what_was_done_under_another_lease_is_not_told_even_if_it_changes_meanwhile() -> None:
    place = Place()
    acting = Acting(place)
    await acting.news()
    place.click()
    acting.forget()
    place.held.clear()
    asking = asyncio.create_task(acting.news())
    await place.asked.wait()
    place.click()
    acting.forget()
    place.held.set()
    assert await asking == ()
    assert await acting.news() == ()
    place.click()
    assert len(await acting.news()) == 1
