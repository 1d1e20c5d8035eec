"""The watches of `filesystem.Filesystem` of envd, on a sandbox's file watches."""

import re
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from tandem_fleet.e2b.connect_protocol import Method, RPCError, ServerStream, Unary
from tandem_fleet.e2b.context import Context
from tandem_fleet.e2b.entries import entry
from tandem_fleet.e2b.filesystem_messages import (
    CreateWatcherResponse,
    FilesystemEvent,
    WatchDirResponse,
    WatcherEventsResponse,
    WatcherRequest,
    WatchRequest,
)
from tandem_fleet.e2b.filesystem_service import require_directory
from tandem_fleet.e2b.messages import Empty, Message
from tandem_fleet.e2b.sandbox_calls import SandboxCalls
from tandem_fleet.e2b.streams import with_keepalives

MAX_EVENTS = 1000
"""Events of one answer; the next has the others."""
DEBOUNCE_MS = 50
KEPT = 10_000
WITH_ENTRIES = ".entries"
"""How the id of a watcher ends whose events say what the file is."""
KEEPALIVE = WatchDirResponse(keepalive={})
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_TYPES = {"create": "CREATE", "write": "WRITE", "remove": "REMOVE", "rename": "RENAME", "chmod": "CHMOD"}


class Watches:
    """The calls. How far each watcher was read is in memory: after a restart its events that the sandbox holds are told again."""

    def __init__(self) -> None:
        self._cursors: OrderedDict[tuple[str, str], int] = OrderedDict()
        self.methods: dict[str, Method] = {
            "WatchDir": ServerStream(WatchRequest, self.watch_dir),
            "CreateWatcher": Unary(WatchRequest, self.create),
            "GetWatcherEvents": Unary(WatcherRequest, self.events),
            "RemoveWatcher": Unary(WatcherRequest, self.remove),
        }

    async def watch_dir(self, context: Context, request: WatchRequest) -> AsyncIterator[Message]:
        """Stream what happens in a directory, until the caller leaves."""
        watcher = await _created(context, request)
        stream = with_keepalives(_streamed(context, watcher, request), context.keepalive_seconds, KEEPALIVE)
        try:
            yield WatchDirResponse(start={})
            async with aclosing(stream):  # type: ignore[type-var] # a generator
                async for message in stream:
                    yield message
        finally:
            context.calls.later(_removed(context.calls, watcher))

    async def create(self, context: Context, request: WatchRequest) -> CreateWatcherResponse:
        """Watch a directory; its events are asked for."""
        watcher = await _created(context, request)
        return CreateWatcherResponse(watcher_id=watcher + WITH_ENTRIES if request.include_entry else watcher)

    async def events(self, context: Context, request: WatcherRequest) -> WatcherEventsResponse:
        """What happened since this was asked last."""
        watcher, place = _id(request), (context.calls.sandbox.id, _id(request))
        fields = {"cursor": self._cursors.get(place, 0), "limit": MAX_EVENTS}
        polled = await context.calls.call("POST", f"/v1/file/watch/{watcher}/poll", fields)
        found = [await _with_entry(context, one, request) for event in polled["events"] for one in _read(event)]
        cursor = polled["cursor"]
        if not isinstance(cursor, int) or not 0 <= cursor < 1 << 63:
            raise RPCError("internal", "the sandbox sent a cursor that is no number")
        self._cursors[place] = cursor
        self._cursors.move_to_end(place)
        while len(self._cursors) > KEPT:
            self._cursors.popitem(last=False)
        return WatcherEventsResponse(events=tuple(event for event, _ in found))

    async def remove(self, context: Context, request: WatcherRequest) -> Empty:
        """End a watcher."""
        watcher = _id(request)
        self._cursors.pop((context.calls.sandbox.id, watcher), None)
        await context.calls.call("DELETE", f"/v1/file/watch/{watcher}")
        return Empty()


def _id(request: WatcherRequest) -> str:
    """The sandbox's id of a watcher: a word, that leads nowhere else in a path."""
    watcher = request.watcher_id.removesuffix(WITH_ENTRIES)
    if not _ID.fullmatch(watcher):
        raise RPCError("not_found", f"watcher with id {request.watcher_id[:128]} not found")
    return watcher


async def _created(context: Context, request: WatchRequest) -> str:
    path = await context.resolve(request.path)
    await require_directory(context, path)
    fields = {"path": path, "recursive": request.recursive, "exclude": [], "debounce": DEBOUNCE_MS}
    made = await context.calls.call("POST", "/v1/file/watch", fields)
    return str(made["watcher_id"])


async def _removed(calls: SandboxCalls, watcher: str) -> None:
    await calls.call("DELETE", f"/v1/file/watch/{watcher}")


async def _streamed(context: Context, watcher: str, request: WatchRequest) -> AsyncIterator[WatchDirResponse]:
    named = WatcherRequest(watcher_id=watcher + WITH_ENTRIES if request.include_entry else watcher)
    async for name, data in context.calls.events(f"/v1/file/watch/{watcher}/events"):
        for one in _read(data) if name == "file_change" else ():
            event, _ = await _with_entry(context, one, named)
            yield WatchDirResponse(filesystem=event)


def _read(event: dict[str, Any]) -> list[tuple[FilesystemEvent, str]]:
    """What happened as envd says it, each with the path of the file if it is there. A rename is one of the old name and a new file."""
    kind, name, path = _TYPES.get(str(event.get("type"))), str(event.get("relative_path")), str(event.get("path"))
    if kind is None:
        return []
    old = event.get("old_path")
    if kind == "RENAME" and old:
        base = path[: len(path) - len(name)]
        gone = FilesystemEvent(name=str(old).removeprefix(base), type="EVENT_TYPE_RENAME")
        return [(gone, ""), (FilesystemEvent(name=name, type="EVENT_TYPE_CREATE"), path)]
    return [(FilesystemEvent(name=name, type=f"EVENT_TYPE_{kind}"), path if kind in ("CREATE", "WRITE", "CHMOD") else "")]


async def _with_entry(context: Context, found: tuple[FilesystemEvent, str], request: WatcherRequest) -> tuple[FilesystemEvent, str]:
    """The event with what its file is, where that is asked for and the file is there."""
    event, path = found
    if not path or not request.watcher_id.endswith(WITH_ENTRIES):
        return found
    try:
        return event.model_copy(update={"entry": await entry(context.calls, path, root=context.root)}), path
    except RPCError:
        return found
