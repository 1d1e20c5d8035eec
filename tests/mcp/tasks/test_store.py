"""The tasks of all callers: whose they are, how many there may be, and for how long."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent

from sandbox_server.core import Caller, ResourceExhausted
from sandbox_server.mcp.tasks import store as limits
from sandbox_server.mcp.tasks.store import TASKS_OF_ONE, Note, TaskStore
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

AGENT, OTHER = Caller("agent"), Caller("other")


@pytest.fixture
async def store() -> AsyncIterator[TaskStore]:
    found = TaskStore()
    yield found
    await found.close()


def says(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


async def done(_: Note) -> CallToolResult:
    return says("done")


class Waiting:
    """Work that goes on until it is cancelled."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.cancelled = False

    async def __call__(self, note: Note) -> CallToolResult:
        note("It waits.")
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError("nothing ends it")


async def test_a_task_is_found_by_its_owner_alone(store: TaskStore) -> None:
    task = store.start(AGENT, "tool", 60, done)
    await task.ended.wait()

    assert store.find(task.id, "agent") is task
    assert store.find(task.id, "other") is None
    assert (store.listed("agent"), store.listed("other")) == ([task], [])
    assert task.result == says("done")


async def test_a_cancelled_task_is_cancelled_and_so_is_its_work(store: TaskStore) -> None:
    work = Waiting()
    task = store.start(AGENT, "tool", 60, work)
    await work.began.wait()
    assert task.message == "It waits."

    await store.cancel(task)

    assert work.cancelled
    assert task.status(modern=False) == task.status(modern=True) == "cancelled"


async def test_work_that_ends_in_spite_of_its_cancellation_does_not_change_the_task(store: TaskStore) -> None:
    began = asyncio.Event()

    async def stubborn(_: Note) -> CallToolResult:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return says("still here")
        raise AssertionError("nothing ends it")

    task = store.start(AGENT, "tool", 60, stubborn)
    await began.wait()
    await store.cancel(task)

    assert task.status(modern=False) == "cancelled"
    assert "still here" not in str(task.outcome())


async def test_one_caller_cannot_have_more_than_its_share_while_they_run(store: TaskStore) -> None:
    running = [store.start(AGENT, "tool", 60, Waiting()) for _ in range(TASKS_OF_ONE)]

    with pytest.raises(ResourceExhausted, match="agent has reached its limit of 64 MCP tasks"):
        store.start(AGENT, "tool", 60, done)
    store.start(OTHER, "tool", 60, done)

    await store.cancel(running[0])
    made = store.start(AGENT, "tool", 60, done)
    assert store.find(running[0].id, "agent") is None
    assert store.find(made.id, "agent") is made


async def test_a_task_is_forgotten_after_its_time_and_its_work_ends(store: TaskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SHORTEST_SECONDS", 0.05)
    work = Waiting()
    task = store.start(AGENT, "tool", -5, work)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await task.ended.wait()

    assert store.find(task.id, "agent") is None
    assert task.status(modern=False) == "cancelled"


async def test_the_time_of_a_task_has_limits(store: TaskStore) -> None:
    assert store.start(AGENT, "tool", 0, done).ttl == limits.SHORTEST_SECONDS
    assert store.start(AGENT, "tool", 10**9, done).ttl == limits.LONGEST_SECONDS


async def test_the_oldest_result_makes_room_and_one_that_is_too_large_is_named(store: TaskStore) -> None:
    half = "x" * (limits.RESULT_BYTES_OF_ONE // 2)

    async def large(_: Note) -> CallToolResult:
        return says(half)

    async def too_large(_: Note) -> CallToolResult:
        return says(2 * half)

    first = store.start(AGENT, "tool", 60, large)
    await first.ended.wait()
    second = store.start(AGENT, "tool", 60, large)
    await second.ended.wait()
    assert store.find(first.id, "agent") is None
    assert second.result is not None

    third = store.start(AGENT, "tool", 60, too_large)
    await third.ended.wait()
    assert third.error is not None
    assert "the result is not kept" in third.error.message


async def test_an_error_of_the_protocol_and_a_defect_are_the_tasks_error(store: TaskStore) -> None:
    async def refuses(_: Note) -> CallToolResult:
        raise MCPError(INVALID_PARAMS, "no such tool")

    async def breaks(_: Note) -> CallToolResult:
        raise ZeroDivisionError("the password is 1234")

    refused, broken = store.start(AGENT, "tool", 60, refuses), store.start(AGENT, "tool", 60, breaks)
    await refused.ended.wait()
    await broken.ended.wait()

    assert refused.error is not None
    assert refused.error.message == "no such tool"
    assert broken.error is not None
    assert "1234" not in broken.error.message
