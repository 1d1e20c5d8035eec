"""Background tasks with an owner: no task outlives the object that started it, and none fails silently."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

_log = logging.getLogger(__name__)
_running: set[asyncio.Task[Any]] = set()
ACCESS = ThreadPoolExecutor(4, "access")
"""Threads for signing in and for changes of control: for work on a small file or a signature, and for nothing that waits for another
program or host. What programs have done in the event loop's own threads therefore holds up no person."""


async def in_thread[*Given, T](work: Callable[[*Given], T], *given: *Given, executor: Executor | None = None) -> T:
    """Run `work` in a thread, and wait for its end even when cancelled, so that its resources can be freed then.

    For short work that always ends. Cancelling the waiting task does not stop the thread.
    """
    done = asyncio.get_running_loop().run_in_executor(executor, work, *given)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        while not done.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        done.cancelled() or done.exception()  # nobody waits for the result any more
        raise


async def in_access_thread[**Given, T](work: Callable[Given, T], *given: Given.args, **named: Given.kwargs) -> T:
    """Run `work`, by which somebody gets in, in one of the threads for that."""
    return await asyncio.get_running_loop().run_in_executor(ACCESS, partial(work, *given, **named))


def start_task[T](work: Awaitable[T]) -> asyncio.Task[T]:
    """Run `work` beside the caller, who awaits or cancels it before it continues. Longer work belongs in a `Tasks`.

    The event loop keeps only weak references to tasks. This keeps a strong one until the task ends.
    """
    task = asyncio.create_task(work if isinstance(work, Coroutine) else _await_result(work))
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


async def _await_result[T](work: Awaitable[T]) -> T:
    return await work


class Tasks:
    """A set of background tasks. Leaving the context cancels the running ones and waits for them."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start[T](self, work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Run `work` in the background. An exception in it is logged."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._on_task_end)
        return task

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)  # not gather: cancelled itself, it would raise a child's cancellation

    def _on_task_end(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background task %s failed", task.get_name(), exc_info=error)
