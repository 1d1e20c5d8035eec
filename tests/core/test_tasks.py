import asyncio

import pytest

from sandbox_server.core import Tasks

pytestmark = pytest.mark.anyio


async def test_a_task_ends_with_its_owner() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Tasks() as tasks:
        tasks.start(work())
        await asyncio.sleep(0)

    assert ended.is_set()


async def test_a_task_gives_its_result() -> None:
    async def work() -> int:
        return 3

    async with Tasks() as tasks:
        assert await tasks.start(work()) == 3


async def test_a_task_that_fails_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise RuntimeError("no luck")

    async with Tasks() as tasks:
        await asyncio.wait([tasks.start(work(), name="luck")])
        await asyncio.sleep(0)

    assert "background task luck failed" in caplog.text
    assert "no luck" in caplog.text


async def test_a_cancelled_task_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async with Tasks() as tasks:
        tasks.start(asyncio.sleep(60))

    assert caplog.records == []
