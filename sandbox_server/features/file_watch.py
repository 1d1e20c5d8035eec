"""File watches: report changes on disk without polling.

Answers have the contract's envelope and repeat its values at the top level, because clients exist for either form.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Literal

from pydantic import Field

from sandbox_server.core import Call, Event, EventTypes, FileError, Model, NotFound, Reply, operation
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.watches.watches import MAX_EVENTS, Watch, Watches, WatchEvent

WAIT_DEBOUNCE = 0.05
"""Seconds for which changes are collected while a caller waits for one file."""

type ChangeType = Literal["create", "write", "remove", "rename", "chmod"]
type EventType = Literal["create", "write", "remove", "rename", "chmod", "overflow", "lost", "restored"]

EVERY_CHANGE: tuple[ChangeType, ...] = ("create", "write", "remove", "rename", "chmod")
USUALLY_EXCLUDED = (".git", "node_modules", "__pycache__", ".venv", "*.pyc", "*.pyo", ".DS_Store", "*.swp", "*.swo")
_STREAMED = {"overflow": "overflow", "lost": "watch_lost", "restored": "watch_restored"}


class CreateWatchRequest(Model):
    """What to watch."""

    path: str
    """File or directory, absolute or beginning with `~/`."""
    recursive: bool = True
    """Watch sub-directories too."""
    exclude: tuple[str, ...] = USUALLY_EXCLUDED
    """Globs for names to leave out. An excluded directory is not entered."""
    debounce: int = Field(default=300, ge=50, le=5000)
    """Milliseconds for which changes are collected. Repeated changes of one path are merged."""
    include_patterns: tuple[str, ...] = ()
    """Globs: only names that match one are reported. Empty: all."""


class WatcherRef(Model):
    """A watcher by its id."""

    watcher_id: str
    """The id from `watch_create`."""


class PollRequest(Model):
    """Where to continue reading."""

    watcher_id: str
    """The id from `watch_create`."""
    cursor: int = Field(default=0, ge=0)
    """The cursor of the last answer. Only later events are returned."""
    since: int | None = Field(default=None, ge=0)
    """The published SDK's name of `cursor`."""
    limit: int = Field(default=100, ge=1, le=1000)
    """Limit of events in the answer."""
    timeout: int = Field(default=0, ge=0, le=60)
    """Seconds to wait for the first event; 0 answers at once."""


class FileWaitRequest(Model):
    """What to wait for."""

    path: str
    """The file, absolute or beginning with `~/`. Neither it nor its directory need exist."""
    timeout: int = Field(default=30, ge=1, le=300)
    """Seconds to wait."""
    event_types: tuple[ChangeType, ...] = EVERY_CHANGE
    """Types of events to wait for. A file that exists satisfies `create` at once."""


class FileWatcher(Model):
    """A watcher."""

    watcher_id: str
    """Its id."""
    path: str
    """The watched path."""
    recursive: bool
    """Whether sub-directories are watched too."""
    exclude: tuple[str, ...]
    """Excluded names."""
    debounce: int
    """Milliseconds for which changes are collected."""
    include_patterns: tuple[str, ...]
    """Globs of reported names; empty for all."""
    cursor: int
    """Number of its latest event."""


class FileEvent(Model):
    """An event on disk."""

    seq: int
    """Its number within the watcher, from 1."""
    type: EventType
    """What happened. `overflow`: some events were lost; list the directory. `lost`: the watched directory was removed
    or replaced. `restored`: it is watched again; its content is reported as `create`.
    """
    path: str
    """Absolute path."""
    relative_path: str
    """Path below the watched directory; `.` for itself."""
    old_path: str | None = None
    """The old path of a renamed file."""
    is_dir: bool = False
    """Whether it is, or was, a directory."""
    timestamp: float
    """When it was noticed, in seconds since the epoch."""
    mtime: float | None = None
    """Last change of the content, in seconds since the epoch; null if it is gone."""
    size: int | None = None
    """Bytes; null if it is gone."""
    inode: int | None = None
    """Inode number in its file system; null if it is gone."""
    reason: str | None = None
    """Why events were lost."""


class MissedEvents(Model):
    """Events of a watcher that are no longer held."""

    watcher_id: str
    missed: int
    """How many."""
    reason: str


EVENTS = EventTypes(
    "FileWatchEvent",
    {
        "watch_started": FileWatcher,
        "file_change": FileEvent,
        "overflow": FileEvent | MissedEvents,
        "watch_lost": FileEvent,
        "watch_restored": FileEvent,
        "watch_stopped": WatcherRef,
    },
)


class PolledEvents(Model):
    """Events of one watcher."""

    events: tuple[FileEvent, ...]
    """Events after the cursor, oldest first."""
    cursor: int
    """Pass this to the next call."""
    overflow: bool
    """Whether events were lost."""


class AwaitedEvent(Model):
    """The result of a wait."""

    event: FileEvent | None
    """The event; null after a timeout."""
    timed_out: bool
    """Whether the wait timed out."""


class WatcherStopped(Model):
    """A watcher that was stopped."""

    watcher_id: str
    """Its id."""
    stopped: bool
    """True."""


class FileWatch:
    """Reports changes of the agent's files."""

    tag = "file-watch"

    def __init__(self, files: Files, watches: Watches) -> None:
        self._files = files
        self._watches = watches

    @operation("GET /v1/file/watch", scope="files", operation_id="watch_list")
    async def list_watches(self) -> Reply[tuple[FileWatcher, ...]]:
        """List the watchers."""
        watchers = tuple(_watcher(watch) for watch in self._watches.all() if watch.listed)
        return Reply(watchers, extra={"watchers": watchers})

    @operation("POST /v1/file/watch", scope="files", operation_id="watch_create", message="Watcher created")
    async def create_watch(self, request: CreateWatchRequest) -> Reply[FileWatcher]:
        """Start watching a file or a directory.

        Read its events with `watch_poll` or `watch_events`. The watch continues if the directory is removed or
        replaced, and reports that.
        """
        access = self._files.access("watch")
        status = (await access.stat(request.path)).status
        watch = Watch(
            path=access.absolute(request.path),
            tree=status.type == "directory",
            recursive=request.recursive,
            exclude=request.exclude,
            include=request.include_patterns,
            debounce=request.debounce / 1000,
        )
        await self._watches.add(watch)
        return _with_flat_fields(_watcher(watch))

    @operation("GET /v1/file/watch/{watcher_id}/events", scope="files", operation_id="watch_events", events=EVENTS)
    async def watch_events(self, request: WatcherRef, call: Call) -> AsyncIterator[Event]:
        """Stream the events of a watcher as they happen.

        First `watch_started`, then every stored event and each new one: `file_change`, `overflow`, `watch_lost`,
        `watch_restored`; `watch_stopped` at the end. With `Last-Event-ID` the stream resumes after that event.
        """
        watch = self._watch(request.watcher_id)
        return _stream(watch, _position(watch, call.last_event_id))

    @operation("POST /v1/file/watch/{watcher_id}/poll", scope="files", operation_id="watch_poll", read_only=True)
    async def poll_events(self, request: PollRequest) -> Reply[PolledEvents]:
        """Read the events of a watcher after a cursor. With `timeout`, wait for the first one."""
        watch = self._watch(request.watcher_id)
        cursor = min(request.cursor or request.since or 0, watch.last)
        if request.timeout:
            await watch.beyond(cursor, request.timeout)
        events, overflow = watch.after(cursor, request.limit)
        latest = events[-1].seq if events else cursor
        return _with_flat_fields(PolledEvents(events=tuple(map(_event, events)), cursor=latest, overflow=overflow))

    @operation("POST /v1/file/watch/wait", scope="files", operation_id="watch_wait", read_only=True)
    async def wait_for_file(self, request: FileWaitRequest) -> Reply[AwaitedEvent]:
        """Wait until something happens to one file.

        After a timeout, the answer has `timed_out`.
        """
        access = self._files.access("watch")
        path = access.absolute(request.path)
        watch = Watch(path=path, tree=False, recursive=False, exclude=(), include=(), debounce=WAIT_DEBOUNCE, listed=False)
        await self._watches.add(watch)
        try:
            event = await _creation_event(access, path) if "create" in request.event_types else None
            event = event or await _first_event(watch, request)
        finally:
            await self._watches.remove(watch.id)
        message = None if event else f"Nothing happened to {request.path} within {request.timeout} s"
        return _with_flat_fields(AwaitedEvent(event=event, timed_out=event is None), message)

    @operation("DELETE /v1/file/watch/{watcher_id}", scope="files", operation_id="watch_stop", message="Watcher stopped")
    async def stop_watch(self, request: WatcherRef) -> Reply[WatcherStopped]:
        """Stop a watcher."""
        self._watch(request.watcher_id)
        await self._watches.remove(request.watcher_id)
        return _with_flat_fields(WatcherStopped(watcher_id=request.watcher_id, stopped=True))

    def _watch(self, watcher_id: str) -> Watch:
        watch = self._watches.get(watcher_id)
        if watch is None:
            raise NotFound(f"there is no watcher {watcher_id!r}", watcher_id=watcher_id)
        return watch


async def _stream(watch: Watch, cursor: int) -> AsyncIterator[Event]:
    yield Event("watch_started", _watcher(watch), f"{watch.id}:{cursor}")
    while not watch.stopped or watch.last > cursor:
        await watch.beyond(cursor)
        events, _ = watch.after(cursor, MAX_EVENTS)
        if events and events[0].seq > cursor + 1:
            missed = events[0].seq - cursor - 1
            yield Event("overflow", MissedEvents(watcher_id=watch.id, missed=missed, reason="these events are no longer held"))
        for event in events:
            cursor = event.seq
            yield Event(_STREAMED.get(event.type, "file_change"), _event(event), f"{watch.id}:{cursor}")
    yield Event("watch_stopped", WatcherRef(watcher_id=watch.id))


async def _first_event(watch: Watch, request: FileWaitRequest) -> FileEvent | None:
    """Wait for the first event of a wanted type."""
    loop = asyncio.get_running_loop()
    deadline, cursor = loop.time() + request.timeout, 0
    while await watch.beyond(cursor, max(0.0, deadline - loop.time())) and not watch.stopped:
        events, _ = watch.after(cursor, MAX_EVENTS)
        if found := next((event for event in events if event.type in request.event_types), None):
            return _event(found)
        cursor = watch.last
    return None


async def _creation_event(access: FileAccess, path: str) -> FileEvent | None:
    """Return a `create` event for a file that exists already."""
    try:
        status = (await access.stat(path)).status
    except FileError as error:
        if error.error_type != "not_found":
            raise
        return None
    return FileEvent(
        seq=0,
        type="create",
        path=path,
        relative_path=".",
        is_dir=status.type == "directory",
        timestamp=time.time(),
        mtime=status.modified / 1e9,
        size=status.size,
        inode=status.inode,
    )


def _position(watch: Watch, last_event_id: str | None) -> int:
    """Parse `{watcher_id}:{seq}`. Without one the stream begins with the stored events."""
    name, _, seq = (last_event_id or "").partition(":")
    if name != watch.id or not seq.isdecimal():
        return 0
    return min(int(seq), watch.last)


def _watcher(watch: Watch) -> FileWatcher:
    return FileWatcher(
        watcher_id=watch.id,
        path=watch.path,
        recursive=watch.recursive,
        exclude=watch.exclude,
        debounce=round(watch.debounce * 1000),
        include_patterns=watch.include,
        cursor=watch.last,
    )


def _event(event: WatchEvent) -> FileEvent:
    return FileEvent.model_validate(asdict(event))


def _with_flat_fields[T: Model](data: T, message: str | None = None) -> Reply[T]:
    """Return the envelope with its values repeated at the top level."""
    return Reply(data, message=message, extra={name: getattr(data, name) for name in type(data).model_fields})
