import asyncio
from collections.abc import AsyncIterator
from typing import cast

import anyio
import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.kernels.kernel import Kernel
from sandbox_server.drivers.kernels.warm_kernels import AT_MOST, WarmKernels
from sandbox_server.drivers.spawn.process import Exit
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Started:
    """A kernel that can only end."""

    def __init__(self) -> None:
        self.exit: Exit | None = None

    async def close(self) -> None:
        self.exit = Exit(None, 9)


class Starter:
    """Starts such kernels, or fails, and remembers them."""

    def __init__(self) -> None:
        self.started: list[Kernel] = []
        self.fails = False

    async def start(self) -> Kernel:
        if self.fails:
            raise Unavailable("no kernel today")
        self.started.append(cast("Kernel", Started()))
        return self.started[-1]


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    async with Tasks() as opened:
        yield opened


async def test_one_kernel_waits_until_one_is_taken_and_then_as_many_as_the_pool_holds(tasks: Tasks) -> None:
    starter = Starter()
    pool = WarmKernels(starter.start, tasks)
    pool.begin()
    await eventually(lambda: pool.ready == 1)
    assert len(starter.started) == 1

    assert await pool.take() is starter.started[0]
    await eventually(lambda: pool.ready == AT_MOST)
    assert len(starter.started) == 1 + AT_MOST


async def test_no_kernel_is_given_twice(tasks: Tasks) -> None:
    pool = WarmKernels(Starter().start, tasks)
    pool.begin()
    with anyio.fail_after(30):
        taken = [await pool.take() for _ in range(20)]
    assert None not in taken
    assert len(set(taken)) == 20


async def test_kernels_that_ended_with_their_box_are_passed_over(tasks: Tasks) -> None:
    starter = Starter()
    pool = WarmKernels(starter.start, tasks)
    await pool.take()
    await eventually(lambda: pool.ready == AT_MOST)
    for started in starter.started:
        await started.close()

    assert await pool.take() is None
    await eventually(lambda: pool.ready == AT_MOST)
    assert await pool.take() is starter.started[AT_MOST]


async def test_a_start_that_fails_is_no_kernel_and_is_tried_again_for_the_next(tasks: Tasks) -> None:
    starter = Starter()
    starter.fails = True
    pool = WarmKernels(starter.start, tasks)
    pool.begin()
    assert await pool.take() is None
    starter.fails = False
    await eventually(lambda: pool.ready == AT_MOST)
    assert await pool.take() is starter.started[0]


async def test_a_kernel_whose_taker_gives_up_is_there_for_the_next(tasks: Tasks) -> None:
    may_start, starter = asyncio.Event(), Starter()

    async def start_late() -> Kernel:
        await may_start.wait()
        return await starter.start()

    pool = WarmKernels(start_late, tasks)
    pool.begin()
    with anyio.move_on_after(0.01):
        await pool.take()
    may_start.set()
    assert {await pool.take(), await pool.take()} == set(starter.started[:AT_MOST])


async def test_closing_ends_those_that_nobody_took(tasks: Tasks) -> None:
    starter = Starter()
    pool = WarmKernels(starter.start, tasks)
    pool.begin()
    await eventually(lambda: pool.ready == 1)
    await pool.close()
    assert starter.started[0].exit
