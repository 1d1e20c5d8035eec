"""Work in a thread that is held up in its middle, while the loop does what it does."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

SECONDS = 30.0


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
        assert self._released.wait(SECONDS)
        self.notes.append(self._note(*given))
        return self._real(*given, **named)

    async def begun(self) -> None:
        """Wait until it is in its middle."""
        assert await asyncio.to_thread(self._begun.wait, SECONDS)

    def release(self) -> None:
        """Let it go on, now and in all later calls."""
        self._released.set()


async def cancelled_in_the_middle(task: asyncio.Task[Any], held: Held) -> None:
    """Cancel a task twice while its thread is held up, let all that follows from that happen, and then release the thread."""
    await held.begun()
    for _ in range(2):
        task.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
    held.release()
    async with asyncio.timeout(SECONDS):
        await asyncio.wait([task])
