"""What is to be written down, taken at once and written a moment later by a thread, so that nobody waits for it."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal, Self

from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.recorder.event_log import ChainVerdict, Entry, EntryFilter, EventLog

BATCH_SECONDS = 0.1
"""How long entries are gathered before they are written."""
SYNC_SECONDS = 1.0
"""How long what was written may wait for the disk."""
MAX_WAITING = 8192
"""Entries that may wait to be written; more are counted and left out."""
MAX_FOLLOWED = 8192
"""Entries that one who follows may be behind."""

type Later = Callable[[], dict[str, Any]]
type ActorType = Literal["agent", "person", "system"]

log = logging.getLogger(__name__)


class Journal:
    """A log that is written behind; an asynchronous context manager. Everything is called on the loop.

    While `private` holds, callers leave out what would tell what a person does; see `features.recorder`.
    """

    def __init__(
        self, store: EventLog, *, on: bool = True, private: Callable[[], bool] = lambda: False, now: Callable[[], float] = time.time
    ) -> None:
        self._log = store
        self._on = on
        self._now = now
        self._waiting: deque[tuple[Entry, Later | None]] = deque()
        self._lost = 0
        self._taken = self._handed = 0
        """Entries that were taken, and of those how many were handed to the thread."""
        self._synced = 0.0
        self._closing = False
        self._writing: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "recorder")
        self._followers: set[asyncio.Queue[Entry]] = set()
        self._listeners: list[Callable[[Entry], None]] = []
        self._warned = False
        self.private = private
        """Whether a person is in private mode."""

    async def __aenter__(self) -> Self:
        if self._on:
            torn = await self._run(self._log.open)
            self.record("log", "system", "recorder", event="start", torn_bytes=torn)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.record("log", "system", "recorder", event="stop")
        self._closing = True
        while self._writing and not self._writing.done():
            await asyncio.wait([self._writing])
        await self._run(self._log.close)
        self._thread.shutdown(wait=False)

    def record(self, kind: str, actor: ActorType, name: str, later: Later | None = None, **what: Any) -> None:
        """Write down what happened now; values are of JSON's types. Never waits, never fails.

        `later` gives more to write down, in the thread that writes: what takes long to make.
        """
        entry = {"at": round(self._now(), 6), "kind": kind, "actor": {"type": actor, "name": name}, **what}
        for listener in self._listeners:
            listener(entry)
        if not self._on:
            return
        if len(self._waiting) >= MAX_WAITING:
            self._lost += 1
            return
        self._waiting.append((entry, later))
        self._taken += 1
        if self._writing is None or self._writing.done():
            self._writing = start_task(self._write())

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have every entry told as it is taken, before it has a number, and where nothing is written, too."""
        self._listeners.append(listener)

    async def read(
        self, after: int | None, match: EntryFilter, limit: int, before: int | None = None, until: float | None = None
    ) -> list[Entry]:
        """Entries that match: the first with a number above `after`, or the last of all, or of those with a number below `before`."""
        await self._written()
        if after is None:
            return await self._run(lambda: self._log.latest(match, limit, before, until))
        return await self._run(lambda: self._log.read(after, match, limit))

    async def follow(self, after: int | None, match: EntryFilter) -> AsyncIterator[Entry]:
        """Entries that match, as they come: from after that number, or from now on. Ends for who is too far behind."""
        queue: asyncio.Queue[Entry] = asyncio.Queue(MAX_FOLLOWED)
        self._followers.add(queue)
        try:
            done = after
            if after is not None:
                for entry in await self.read(after, match, MAX_FOLLOWED):
                    done = entry["n"]
                    yield entry
            while queue in self._followers or not queue.empty():
                entry = await queue.get()
                if (done is None or entry["n"] > done) and match(entry):
                    yield entry
        finally:
            self._followers.discard(queue)

    async def verify(self) -> ChainVerdict:
        """Check the chain."""
        await self._written()
        return await self._run(self._log.verify)

    async def files(self) -> list[str]:
        """The files of the log, the oldest first, with all that has happened so far."""
        await self._written()
        return await self._run(self._log.files)

    async def _written(self) -> None:
        """Wait until the thread has been given what was taken so far: what it is asked next comes after that."""
        taken = self._taken
        while self._handed < taken and self._writing and not self._writing.done():
            await asyncio.wait([self._writing], timeout=BATCH_SECONDS)

    async def _write(self) -> None:
        """Write until nothing is left, and see to the disk."""
        unsynced = False
        while self._waiting or (unsynced and not self._closing):
            await asyncio.sleep(0 if self._closing else BATCH_SECONDS)
            unsynced |= bool(self._waiting)
            if self._waiting:
                await self._put(self._batch())
            now = asyncio.get_running_loop().time()
            if unsynced and now - self._synced >= SYNC_SECONDS:
                await self._run(self._sync)
                self._synced, unsynced = now, False

    def _batch(self) -> list[tuple[Entry, Later | None]]:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        self._handed += len(batch)
        return [*batch, (self._loss(), None)] if self._lost else batch

    def _loss(self) -> Entry:
        lost, self._lost = self._lost, 0
        return {"at": round(self._now(), 6), "kind": "log", "actor": {"type": "system", "name": "recorder"}, "event": "lost", "lost": lost}

    async def _put(self, batch: list[tuple[Entry, Later | None]]) -> None:
        try:
            written = await self._run(lambda: self._log.append([_whole(entry, later) for entry, later in batch]))
        except OSError as error:
            self._lost += len(batch)
            if not self._warned:
                log.warning("the flight recorder cannot write: %s; what it loses is counted", error)
            self._warned = True
            return
        self._warned = False
        for queue in list(self._followers):
            for entry in written:
                if queue.full():
                    self._followers.discard(queue)
                    break
                queue.put_nowait(entry)

    def _sync(self) -> None:
        try:
            self._log.sync()
        except OSError as error:
            log.warning("the flight recorder's disk fails: %s", error)

    async def _run[T](self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _whole(entry: Entry, later: Later | None) -> Entry:
    try:
        return {**entry, **later()} if later else entry
    except Exception:  # a defect of one entry must not take the others with it
        log.exception("an entry of the flight recorder is not whole")
        return entry
