"""The tasks of all callers, with limits of their number, their life and the size of their results."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, ErrorData

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.identity import Caller
from sandbox_server.core.quota import Quota, Reservation
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.tasks.task import ToolTask

MAX_TASKS = 256
PROGRAM_TASKS = 224
TASKS_OF_ONE = 64
MAX_RESULT_BYTES = 128 << 20
"""Of all results that are kept, as JSON."""
PROGRAM_RESULT_BYTES = 112 << 20
RESULT_BYTES_OF_ONE = 64 << 20
SHORTEST_SECONDS = 60.0
LONGEST_SECONDS = 25 * 3600.0
STOP_SECONDS = 30.0
"""How long a cancellation waits until the work has ended."""

type Note = Callable[[str], None]
"""Says what a task waits for."""
type Work = Callable[[Note], Awaitable[CallToolResult]]

_log = logging.getLogger(__name__)


class TaskStore:
    """Starts tasks and keeps them until their time has passed. `close` ends all."""

    def __init__(self) -> None:
        self._places = Quota("MCP tasks", MAX_TASKS, programs=PROGRAM_TASKS, each=TASKS_OF_ONE)
        self._bytes = Quota("bytes of MCP task results", MAX_RESULT_BYTES, programs=PROGRAM_RESULT_BYTES, each=RESULT_BYTES_OF_ONE)
        self._tasks: dict[str, ToolTask] = {}
        """By id, in the order of their start."""
        self._work: dict[str, asyncio.Task[None]] = {}
        self._expiries: dict[str, asyncio.TimerHandle] = {}
        self._results: dict[str, Reservation] = {}
        self._running = Tasks()

    async def close(self) -> None:
        """End every task."""
        for expiry in self._expiries.values():
            expiry.cancel()
        self._expiries.clear()
        await self._running.close()

    def start(self, caller: Caller, tool: str, ttl: float, work: Work) -> ToolTask:
        """Start a task. The caller's oldest task that has ended makes room, if there is need. Raises ResourceExhausted."""
        now, seconds = time.time(), min(max(ttl, SHORTEST_SECONDS), LONGEST_SECONDS)
        task = ToolTask(secrets.token_urlsafe(24), caller.name, tool, seconds, now, now, self._place(caller))
        self._tasks[task.id] = task
        self._work[task.id] = self._running.start(self._run(task, caller, work), name=f"MCP task of {tool}")
        self._expiries[task.id] = asyncio.get_running_loop().call_later(seconds, self._expire, task)
        return task

    def find(self, task_id: str, owner: str) -> ToolTask | None:
        """A task of its owner; None for another's and for one that is not known."""
        found = self._tasks.get(task_id)
        return found if found and found.owner == owner else None

    def listed(self, owner: str) -> list[ToolTask]:
        """An owner's tasks, oldest first."""
        return [task for task in self._tasks.values() if task.owner == owner]

    async def cancel(self, task: ToolTask) -> None:
        """End a task. It is `cancelled` from now on, and what it began has ended, or did not within STOP_SECONDS."""
        task.cancelled = True
        self._end(task, "The task was cancelled.")
        if work := self._work.get(task.id):
            work.cancel()
            await asyncio.wait([work], timeout=STOP_SECONDS)

    async def _run(self, task: ToolTask, caller: Caller, work: Work) -> None:
        def note(message: str) -> None:
            task.message, task.updated_at = message, time.time()

        try:
            result = await work(note)
            if task.id in self._tasks:
                self._keep(task, caller, result)
        except MCPError as error:
            task.error = error.error
        except Exception:  # noqa: BLE001 - the top of a task: what fails is logged, and its owner hears that it failed
            _log.exception("the MCP task %s of %s failed", task.id, task.tool)
            task.error = ErrorData(code=INTERNAL_ERROR, message="the call failed")
        finally:
            self._work.pop(task.id, None)
        if not task.cancelled:
            self._end(task, "The call failed." if task.failed else None)

    def _keep(self, task: ToolTask, caller: Caller, result: CallToolResult) -> None:
        size = len(result.model_dump_json(by_alias=True, exclude_none=True))
        while True:
            try:
                place = self._bytes.take(caller.name, person=caller.person, size=size)
                break
            except ResourceExhausted as refusal:
                if not self._forget_oldest_ended(task.owner):
                    task.error = ErrorData(code=INTERNAL_ERROR, message=f"the result is not kept: {refusal.message}")
                    return
        self._results[task.id], task.result = place, result

    def _end(self, task: ToolTask, message: str | None) -> None:
        task.message, task.updated_at = message, time.time()
        task.ended.set()

    def _place(self, caller: Caller) -> Reservation:
        try:
            return self._places.take(caller.name, person=caller.person)
        except ResourceExhausted:
            if not self._forget_oldest_ended(caller.name):
                raise
            return self._places.take(caller.name, person=caller.person)

    def _forget_oldest_ended(self, owner: str) -> bool:
        oldest = next((task for task in self._tasks.values() if task.owner == owner and task.ended.is_set()), None)
        if oldest is None:
            return False
        self._forget(oldest)
        return True

    def _expire(self, task: ToolTask) -> None:
        if work := self._work.get(task.id):
            task.cancelled = True
            self._end(task, "The task's time has passed.")
            work.cancel()
        self._forget(task)

    def _forget(self, task: ToolTask) -> None:
        if self._tasks.pop(task.id, None) is None:
            return
        self._expiries.pop(task.id).cancel()
        task.place.close()
        if place := self._results.pop(task.id, None):
            place.close()
