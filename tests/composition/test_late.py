"""What is made late is waited for, or missed loudly."""

import asyncio
import threading

import pytest

from sandbox_server.composition.late import Late, NotMadeYetError
from sandbox_server.core.errors import Unavailable
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_asking_before_it_is_made_names_what_is_missing() -> None:
    late = Late[int]("the number")

    with pytest.raises(NotMadeYetError, match="the number is not made yet"):
        late.get()
    with pytest.raises(Unavailable, match="the number is not there yet"):
        await late.wait(0.01)


async def test_whoever_waits_has_it_as_soon_as_another_thread_made_it_even_after_one_gave_up() -> None:
    late = Late[int]("the number")
    with pytest.raises(Unavailable):
        await late.wait(0.01)
    waiting = [asyncio.ensure_future(late.wait()) for _ in range(2)]
    await asyncio.sleep(0)
    threading.Thread(target=late.set, args=[7]).start()

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await asyncio.gather(*waiting) == [7, 7]
    assert (late.get(), await late.wait()) == (7, 7)


async def test_nothing_is_made_twice() -> None:
    late = Late[int]("the number")
    late.set(1)

    with pytest.raises(RuntimeError, match="made already"):
        late.set(2)
    assert late.get() == 1
