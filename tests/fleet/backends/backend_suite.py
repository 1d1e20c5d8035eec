"""What every backend keeps. Who tests one calls each of these with a backend and an order of a sandbox that does not exist yet."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tandem_fleet.backends.backend import Backend, Order, Phase
from tandem_fleet.errors import EngineError

Promise = Callable[[Backend, Order], Awaitable[None]]
SECONDS = 60


async def phase_of(backend: Backend, order: Order) -> Phase | None:
    """What the engine says of it."""
    found = await backend.find(order.id)
    return found.phase if found else None


async def lives_through_its_phases(backend: Backend, order: Order) -> None:
    assert await phase_of(backend, order) is None
    await backend.create(order)
    assert await phase_of(backend, order) == Phase.CREATED
    await backend.start(order.id)
    assert await phase_of(backend, order) == Phase.RUNNING
    await backend.pause(order.id)
    assert await phase_of(backend, order) == Phase.PAUSED
    await backend.start(order.id)
    assert await phase_of(backend, order) == Phase.RUNNING
    await backend.stop(order.id)
    assert await phase_of(backend, order) == Phase.STOPPED
    await backend.start(order.id)
    assert await phase_of(backend, order) == Phase.RUNNING
    await backend.delete(order.id)
    assert await phase_of(backend, order) is None


async def each_call_may_be_repeated(backend: Backend, order: Order) -> None:
    for _ in range(2):
        await backend.create(order)
    for call in (backend.start, backend.stop, backend.delete):
        await call(order.id)
        await call(order.id)
    assert await phase_of(backend, order) is None


async def a_paused_one_is_stopped_and_deleted(backend: Backend, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    await backend.pause(order.id)
    await backend.stop(order.id)
    assert await phase_of(backend, order) == Phase.STOPPED
    await backend.start(order.id)
    await backend.pause(order.id)
    await backend.delete(order.id)
    assert await phase_of(backend, order) is None


async def all_that_is_known_of_it_is_in_the_engine(backend: Backend, order: Order) -> None:
    await backend.create(order)
    await backend.start(order.id)
    [found] = [one for one in await backend.list_all() if one.id == order.id]
    assert (found.name, found.tenant, found.spec) == (order.name, order.tenant, order.spec)
    assert found.address.startswith("http://")


async def what_does_not_exist_is_refused(backend: Backend, order: Order) -> None:
    for call in (backend.start, backend.pause, backend.stop):
        with pytest.raises(EngineError):
            await call(order.id)


async def a_change_is_told(backend: Backend, order: Order) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def listen() -> None:
        async for sandbox in backend.watch():
            told.put_nowait(sandbox)

    listener = asyncio.create_task(listen())
    try:
        async with asyncio.timeout(SECONDS):
            await backend.create(order)
            while told.empty():  # nobody says when the engine has begun to tell
                await backend.start(order.id)
                await asyncio.sleep(0.1)
                await backend.stop(order.id)
            assert await told.get() == order.id
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def one_is_not_mistaken_for_another(backend: Backend, order: Order) -> None:
    other = replace(order, id=order.id[:-1] + ("y" if order.id.endswith("z") else "z"), name="other")
    await backend.create(order)
    await backend.create(other)
    await backend.delete(other.id)
    assert await phase_of(backend, order) == Phase.CREATED


PROMISES: tuple[Promise, ...] = (
    lives_through_its_phases,
    each_call_may_be_repeated,
    a_paused_one_is_stopped_and_deleted,
    all_that_is_known_of_it_is_in_the_engine,
    what_does_not_exist_is_refused,
    a_change_is_told,
    one_is_not_mistaken_for_another,
)
