import asyncio
import gc
import weakref

import pytest

from sandbox_server.core import Tasks
from sandbox_server.core.tasks import in_thread, start_task
from tests.patience import PATIENCE_SECONDS
from tests.threads import Held, cancelled_in_the_middle

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


async def test_what_a_thread_uses_outlasts_whoever_waited_for_it() -> None:
    held, let_go = Held(lambda: 3), []

    async def use() -> None:
        try:
            await in_thread(held)
        finally:
            let_go.append(len(held.notes))

    task = asyncio.create_task(use())
    await cancelled_in_the_middle(task, held)
    assert task.cancelled()
    assert let_go == [1]


async def test_a_thread_gives_its_result_and_its_failure() -> None:
    assert await in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 7, 0)


async def test_a_started_task_is_kept_until_it_has_ended() -> None:
    go = asyncio.Event()
    kept = weakref.ref(start_task(go.wait()))
    gc.collect()
    await asyncio.sleep(0)
    running = kept()
    assert running is not None
    go.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await running is True
