"""Which tasks run: rules of the policy may hold for one of them. A task runs for as long as its token calls, or as it is leased."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Annotated, Self

from pydantic import Field

from sandbox_server.core import Failure, Model, NotFound, ResourceExhausted, Tasks, Unavailable
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.grants import TaskName

CALLED_SECONDS = 900.0
"""How long a task runs on after the last call with its token."""
MAX_TASKS = 256
MAX_CALLERS = 1024
MAX_ENDED = 1024
"""Ended tasks that are remembered, so that no call of their token lets them run again."""
_MARGIN = 60.0
"""How much longer a task has to run by another call before the egress process is told again."""


class EgressTask(Model):
    task: str
    until: float
    """Seconds since the epoch."""


class TaskLease(Model):
    task: TaskName
    minutes: Annotated[float, Field(gt=0, le=7 * 24 * 60)] = 60.0
    """How long it runs, from now on."""


class TaskRef(Model):
    task: TaskName


class RunningTasks:
    """Knows which tasks run until when. `changed` is called when that is no longer what the egress process knows."""

    def __init__(self, file: JsonFile, now: Callable[[], float] = time.time) -> None:
        """`file` keeps them over a restart of the server."""
        self._file = file
        self._now = now
        kept = _read(file)
        self._until = {task: until for task, until in kept.items() if until}
        self._ended: OrderedDict[str, None] = OrderedDict.fromkeys(task for task, until in kept.items() if not until)
        self._callers: OrderedDict[str, str] = OrderedDict()
        self._expiry: asyncio.TimerHandle | None = None
        self._keeping = asyncio.Lock()
        self.changed: Callable[[], None] = lambda: None

    def running(self) -> list[EgressTask]:
        """Return those that run, by name."""
        now = self._now()
        return [EgressTask(task=task, until=until) for task, until in sorted(self._until.items()) if until > now]

    def called(self, caller: str, task: str, expires: float | None) -> None:
        """Note a call of a token that names its task. It runs on for a while, at most until the token expires, unless it was ended."""
        self._callers[caller] = task
        self._callers.move_to_end(caller)
        if len(self._callers) > MAX_CALLERS:
            self._callers.popitem(last=False)
        if task in self._ended:
            return
        until = min(self._now() + CALLED_SECONDS, expires or float("inf"))
        if until > self._until.get(task, 0.0) + _MARGIN and (task in self._until or len(self.running()) < MAX_TASKS):
            self._set(task, until)

    async def lease(self, task: str, seconds: float) -> EgressTask:
        """Let a task run from now on, also one that was ended; raises ResourceExhausted."""
        if task not in self._until and len(self.running()) >= MAX_TASKS:
            raise ResourceExhausted(f"at most {MAX_TASKS} tasks run at once", limit=MAX_TASKS)
        until = self._now() + seconds
        self._ended.pop(task, None)
        self._set(task, until)
        await self._keep()
        return EgressTask(task=task, until=until)

    async def end(self, task: str) -> None:
        """End a task, until it is leased again; raises NotFound."""
        if self._until.pop(task, 0.0) <= self._now():
            raise NotFound(f"the task {task!r} does not run", task=task)
        self._ended[task] = None
        if len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)
        self._announce()
        await self._keep()

    def of(self, caller: str) -> str | None:
        """Return the task of a caller, if it runs."""
        task = self._callers.get(caller)
        return task if task and self._until.get(task, 0.0) > self._now() else None

    def _set(self, task: str, until: float) -> None:
        self._until[task] = until
        self._announce()

    async def _keep(self) -> None:
        try:
            async with self._keeping:
                await in_thread(self._file.write, self._until | dict.fromkeys(self._ended, 0.0))
        except OSError as error:
            raise Unavailable(f"this holds, and cannot be kept: {error.strerror}") from None

    def _announce(self) -> None:
        """Tell of the change, and of the next end of a task when it comes."""
        now = self._now()
        self._until = {task: until for task, until in self._until.items() if until > now}
        if self._expiry:
            self._expiry.cancel()
            self._expiry = None
        if self._until:
            self._expiry = asyncio.get_running_loop().call_later(min(self._until.values()) - now + 0.05, self._announce)
        self.changed()


class TaskAnnouncer:
    """Tells the egress process which tasks run; an asynchronous context manager."""

    def __init__(self, tasks: RunningTasks, client: EgressClient) -> None:
        self._running = tasks
        self._client = client
        self._changed = asyncio.Event()
        self._tasks = Tasks()
        tasks.changed = self._changed.set

    async def __aenter__(self) -> Self:
        if not self._client.off:
            self._tasks.start(self._work(), name="tasks of the egress policy")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def give(self) -> None:
        """Tell it now. Raises Unavailable."""
        await self._client.ask("tasks", running=[each.task for each in self._running.running()])

    async def _work(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            with suppress(Failure):  # a process that is away is told when it comes
                await self.give()


def _read(file: JsonFile) -> dict[str, float]:
    """Read the file, where an ended task has the time 0; what is malformed is no task."""
    try:
        kept = file.read() or {}
        return {str(task): float(until) for task, until in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
