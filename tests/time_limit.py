"""The longest time of a test: one that hangs fails, says where, and the next one runs.

A wait may use up its patience (`tests/patience.py`) and still be told. What does not end even then, a call of C that never returns, is
left to pytest's `faulthandler_timeout`, which ends the run.
"""

import asyncio
import signal
from collections.abc import Generator, Iterator
from types import FrameType
from typing import Any

import pytest

LIMIT_SECONDS = 300.0
"""With its fixtures; `@pytest.mark.limit(seconds)` gives a test another time."""
CONTAINER_LIMIT_SECONDS = 600.0
CONTAINER_TESTS = ("tests/image/", "tests/pages/", "tests/examples/")
AGAIN_SECONDS = 360.0
"""What is left to do after the end has as long before it is ended, too: longer than asyncio waits for threads."""


class TookTooLong(SystemExit):
    """The end of a test. Event loops let this kind of exception through, also where they wait for something to happen."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a test, in the main thread, after its time."""
    seconds = limit_of(item)

    def end(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"not done after {seconds:g} s\n{_suspended()}")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_of(item: pytest.Item) -> float:
    """The seconds that a test may take."""
    if marker := item.get_closest_marker("limit"):
        return float(marker.args[0])
    return CONTAINER_LIMIT_SECONDS if item.nodeid.startswith(CONTAINER_TESTS) else LIMIT_SECONDS


def _suspended() -> str:
    """Where each task of the loop that runs in this thread waits; nothing without one. A traceback has the loop alone."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:
        return ""
    return "\n".join(line for task in tasks for line in (f"{task.get_name()}:", *_places(task.get_coro())))


def _places(awaited: Any) -> Iterator[str]:
    """The lines at which a coroutine, and what it awaits, are."""
    while awaited is not None:
        kind = next((kind for kind in ("cr", "gi", "ag") if hasattr(awaited, f"{kind}_frame")), None)
        if kind is None:
            return
        if frame := getattr(awaited, f"{kind}_frame"):
            yield f"  {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        awaited = getattr(awaited, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
