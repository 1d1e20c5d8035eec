"""Watches on the agent's files: events are kept for callers who poll or listen.

One worker process, run as the agent, holds every inotify instance. It starts with the first watch. If it dies, another
is started and each watch gets an overflow event, because changes may have been missed.
"""

import asyncio
import errno
import logging
import secrets
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core.errors import FileError, ResourceExhausted, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.operations import User
from sandbox_server.drivers.files.worker_channel import FileWorkerChannel
from sandbox_server.timeouts import scaled

MAX_WATCHES = 32
MAX_EVENTS = 4096
"""Limit of events that one watch keeps. The oldest are dropped."""
START_SECONDS = scaled(30.0)
"""Seconds that a watch may take to list its tree."""
RETRY_SECONDS = 1.0

_LIMITS = {
    errno.ENOSPC: "the tree has too many directories, or fs.inotify.max_user_watches is reached",
    errno.EMFILE: "fs.inotify.max_user_instances is reached",
}

_log = logging.getLogger(__name__)


class WatchWorkers(Protocol):
    """Starts workers; `Processes` implements it."""

    async def worker(self, user: User) -> socket.socket: ...


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event. Times are in seconds since the epoch; `mtime`, `size` and `inode` are None for what is gone."""

    seq: int
    type: str
    path: str
    relative_path: str
    old_path: str | None
    is_dir: bool
    timestamp: float
    mtime: float | None
    size: int | None
    inode: int | None
    reason: str | None = None


@dataclass(eq=False, slots=True)
class Watch:
    """One watch and its events, numbered from 1."""

    path: str
    tree: bool
    recursive: bool
    exclude: tuple[str, ...]
    include: tuple[str, ...]
    debounce: float
    """Seconds for which changes are collected."""
    listed: bool = True
    """Whether a caller made it. Other operations have watches of their own."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    stopped: bool = False
    last: int = 0
    """The number of the newest event."""
    _events: deque[WatchEvent] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def after(self, cursor: int, limit: int) -> tuple[list[WatchEvent], bool]:
        """Return the events after `cursor`, and whether some of them were lost or dropped."""
        events = [event for event in self._events if event.seq > cursor][:limit]
        missing = self.last > cursor and (not self._events or self._events[0].seq > cursor + 1)
        return events, missing or any(event.type == "overflow" for event in events)

    async def beyond(self, cursor: int, timeout: float | None = None) -> bool:
        """Wait for an event after `cursor`, or the end of the watch. Return False after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                while self.last <= cursor and not self.stopped:
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    def add(self, change: dict[str, Any]) -> None:
        """Number and keep one event."""
        self.last += 1
        self._events.append(WatchEvent(seq=self.last, **change))
        self._tell()

    def end(self) -> None:
        """Wake all waiters at the end."""
        self.stopped = True
        self._tell()

    def request(self) -> dict[str, Any]:
        """Return the request for the worker."""
        return {
            "add": self.id,
            "path": self.path,
            "tree": self.tree,
            "recursive": self.recursive,
            "exclude": self.exclude,
            "include": self.include,
            "debounce": self.debounce,
        }

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class Watches:
    """All watches, and their worker."""

    def __init__(self, workers: WatchWorkers) -> None:
        self._workers = workers
        self._tasks = Tasks()
        self._watches: dict[str, Watch] = {}
        self._starting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._channel: FileWorkerChannel | None = None
        self._sending = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for watch in self._watches.values():
            watch.end()
        await self._tasks.close()
        self._disconnect()

    def all(self) -> list[Watch]:
        """Return all watches, oldest first."""
        return list(self._watches.values())

    def get(self, watch_id: str) -> Watch | None:
        """Return a watch by its id."""
        return self._watches.get(watch_id)

    async def add(self, watch: Watch) -> None:
        """Start a watch, and return once it is in force.

        Raises FileError if the path cannot be watched, ResourceExhausted at a limit.
        """
        if len(self._watches) >= MAX_WATCHES:
            raise ResourceExhausted(f"at most {MAX_WATCHES} watches are allowed: stop one first", limit=MAX_WATCHES)
        self._watches[watch.id] = watch
        try:
            await self._start(watch)
        except BaseException:
            await self.remove(watch.id)
            raise

    async def remove(self, watch_id: str) -> bool:
        """Stop a watch. Return False if there is none."""
        watch = self._watches.pop(watch_id, None)
        if watch is None:
            return False
        watch.end()
        if self._channel is not None:
            with suppress(ConnectionError):  # the worker died: the watch ended with it
                await self._send({"remove": watch_id})
        return True

    async def _start(self, watch: Watch) -> None:
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._starting[watch.id] = answered
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._send(watch.request())
                answer = await answered
        except (TimeoutError, ConnectionError) as error:
            raise Unavailable(f"{watch.path!r} cannot be watched now: {error or 'it takes too long'}", retry_after=1) from None
        finally:
            del self._starting[watch.id]
        if "failed" in answer:
            raise _failure(answer, watch.path)

    async def _send(self, header: dict[str, Any]) -> None:
        async with self._sending:
            if self._channel is None:
                self._channel = await self._connect()
            await self._channel.send(WorkerFrame(header))

    async def _connect(self) -> FileWorkerChannel:
        channel = FileWorkerChannel(await self._workers.worker("agent"))
        await channel.send(WorkerFrame({"op": "watch"}))
        self._tasks.start(self._listen(channel), name="watches")
        return channel

    async def _listen(self, channel: FileWorkerChannel) -> None:
        try:
            while True:
                self._take((await channel.receive()).header)
        except ConnectionError as error:
            _log.warning("the watching worker went away: %s", error)
        self._disconnect()
        await self._resume()

    def _take(self, header: dict[str, Any]) -> None:
        name = header.get("added") or header.get("failed")
        if name and (waiting := self._starting.get(name)) and not waiting.done():
            waiting.set_result(header)
        elif watch := self._watches.get(header.get("of", "")):
            for change in header["changes"]:
                watch.add(change)

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        for waiting in self._starting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("the watching worker went away"))

    async def _resume(self) -> None:
        """Set every watch up again, and send each an overflow event."""
        for watch in self.all():
            while not watch.stopped and watch.id not in self._starting:
                try:
                    await self._start(watch)
                except (Unavailable, FileError, ResourceExhausted) as error:
                    _log.warning("watch %s cannot be resumed yet: %s", watch.id, error)
                    await asyncio.sleep(RETRY_SECONDS)
                else:
                    watch.add(_interruption(watch.path))
                    break


def _interruption(path: str) -> dict[str, Any]:
    return {
        "type": "overflow",
        "path": path,
        "relative_path": ".",
        "old_path": None,
        "is_dir": True,
        "timestamp": time.time(),
        "mtime": None,
        "size": None,
        "inode": None,
        "reason": "watching was interrupted",
    }


def _failure(answer: dict[str, Any], path: str) -> FileError | ResourceExhausted:
    number = answer.get("errno")
    if number in _LIMITS:
        return ResourceExhausted(f"{path!r} cannot be watched: {_LIMITS[number]}", limit=_LIMITS[number])
    if number is None:
        return FileError(answer["message"], path=path, operation="watch", error_type="invalid_path")
    return FileError.from_errno(number, path=path, operation="watch")
