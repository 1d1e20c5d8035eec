"""Work in a thread that is held up in its middle, while the loop does what it does."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Literal

from tests.patience import PATIENCE_SECONDS


class Held:
    """Stands in for a function: when it is called it waits until it is released, and then does what the function does."""

    def __init__(self, real: Callable[..., Any], note: Callable[..., object] = lambda *_: None) -> None:
        self._real = real
        self._note = note
        self._begun = threading.Event()
        self._released = threading.Event()
        self.notes: list[object] = []
        """What `note` found, given the arguments, once the function was released."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        self._begun.set()
        assert self._released.wait(PATIENCE_SECONDS)
        self.notes.append(self._note(*given))
        return self._real(*given, **named)

    async def begun(self) -> None:
        """Wait until it is in its middle."""
        assert await asyncio.to_thread(self._begun.wait, PATIENCE_SECONDS)

    def release(self) -> None:
        """Let it go on, now and in all later calls."""
        self._released.set()


class Overtaken:
    """Stands in for a function that writes: its first call waits until a second one is over, or waits at a lock for its turn."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self._real = real
        self._second = threading.Event()
        self.begun = threading.Event()
        """Set once the first call is in its middle."""

    def __call__(self, *given: Any) -> Any:
        if not self.begun.is_set():
            self.begun.set()
            assert self._second.wait(PATIENCE_SECONDS)
            return self._real(*given)
        done = self._real(*given)
        self._second.set()
        return done

    def lock(self) -> "WatchedLock":
        """Return a lock between threads that tells the first call who waits at it."""
        return WatchedLock(self._second.set)

    def loop_lock(self) -> asyncio.Lock:
        """Return the same for tasks."""
        return WatchedLoopLock(self._second.set)


@asynccontextmanager
async def no_thread_is_free() -> AsyncIterator[None]:
    """Within it, no thread of the event loop's own is free, and what needs none of them is over within a test's patience."""
    over = threading.Event()
    threads = ThreadPoolExecutor(1)
    threads.submit(over.wait, 2 * PATIENCE_SECONDS)
    asyncio.get_running_loop().set_default_executor(threads)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield
    finally:
        over.set()


class WatchedLock:
    """A lock between threads that tells when somebody waits at it."""

    def __init__(self, awaited: Callable[[], None]) -> None:
        self._awaited = awaited
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._awaited()
            assert self._lock.acquire(timeout=PATIENCE_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class WatchedLoopLock(asyncio.Lock):
    """A lock between tasks that tells when somebody waits at it."""

    def __init__(self, awaited: Callable[[], None]) -> None:
        super().__init__()
        self._awaited = awaited

    async def acquire(self) -> Literal[True]:
        if self.locked():
            self._awaited()
        return await super().acquire()


async def left_in_the_middle(first: Coroutine[Any, Any, Any], second: Coroutine[Any, Any, Any], held: Held) -> None:
    """Have the caller of a change leave while its thread is held up, ask for a second change, and let the thread go on.

    Fails if the first change was over before that: its lock would have been free for the second one.
    """
    leaving = asyncio.create_task(first)
    await held.begun()
    after = asyncio.create_task(second)
    leaving.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    was_over = leaving.done()
    held.release()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.wait([leaving, after])
    assert (was_over, leaving.cancelled()) == (False, True)
    await after


async def cancelled_in_the_middle(task: asyncio.Task[Any], held: Held) -> None:
    """Cancel a task twice while its thread is held up, let all that follows from that happen, and then release the thread."""
    await held.begun()
    for _ in range(2):
        task.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
    held.release()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.wait([task])
