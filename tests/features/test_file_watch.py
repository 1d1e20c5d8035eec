import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sandbox_server.core import Call, Caller, Event, FileError, NotFound, Reply
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.watches import watches as driver
from sandbox_server.drivers.watches.watches import Watch, Watches
from sandbox_server.features.file_watch import (
    EVENTS,
    CreateWatchRequest,
    FileEvent,
    FileWaitRequest,
    FileWatch,
    FileWatcher,
    PollRequest,
    WatcherRef,
)
from tests.event_types import assert_declared
from tests.patience import eventually

if TYPE_CHECKING:
    from tests.conftest import FileWorkers

pytestmark = pytest.mark.anyio


@pytest.fixture
async def watch(files: Files, workers: "FileWorkers") -> AsyncIterator[FileWatch]:
    async with Watches(workers) as watches:
        yield FileWatch(files, watches)


async def begin(watch: FileWatch, path: Path, **fields: object) -> FileWatcher:
    request = CreateWatchRequest.model_validate({"path": str(path), "debounce": 50, **fields})
    reply: Reply[FileWatcher] = await watch.create_watch(request)
    return reply.data


async def poll(watch: FileWatch, watcher: FileWatcher, **fields: Any) -> Any:
    reply = await watch.poll_events(PollRequest(watcher_id=watcher.watcher_id, **({"timeout": 30} | fields)))
    return reply.data


async def stream(watch: FileWatch, watcher: FileWatcher, after: str | None = None) -> AsyncIterator[Event]:
    events: AsyncIterator[Event] = await watch.watch_events(
        WatcherRef(watcher_id=watcher.watcher_id), Call(Caller("test"), "1", last_event_id=after)
    )
    return checked(events)


async def checked(events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    async for event in events:
        assert_declared(EVENTS, [event])
        yield event


async def test_an_answer_has_the_envelope_and_the_bare_values(watch: FileWatch, home: Path) -> None:
    created = await watch.create_watch(CreateWatchRequest(path="~"))
    assert created.extra["watcher_id"] == created.data.watcher_id
    assert created.data.path == str(home)
    listed = await watch.list_watches()
    assert listed.data == listed.extra["watchers"] == (created.data,)
    polled = await watch.poll_events(PollRequest(watcher_id=created.data.watcher_id))
    assert polled.extra == {"events": (), "cursor": 0, "overflow": False}
    stopped = await watch.stop_watch(WatcherRef(watcher_id=created.data.watcher_id))
    assert stopped.extra == {"watcher_id": created.data.watcher_id, "stopped": True}
    assert (await watch.list_watches()).data == ()


async def test_polling_goes_on_from_its_cursor(watch: FileWatch, home: Path) -> None:
    watcher = await begin(watch, home)
    for name in ("a", "b"):
        (home / name).touch()
        (await poll(watch, watcher, cursor=0 if name == "a" else 1))
    first = await poll(watch, watcher, limit=1)
    assert ([event.relative_path for event in first.events], first.cursor) == (["a"], 1)
    second = await poll(watch, watcher, cursor=first.cursor)
    assert ([event.relative_path for event in second.events], second.cursor, second.overflow) == (["b"], 2, False)
    assert (await poll(watch, watcher, cursor=2, timeout=0)).cursor == 2
    assert (await poll(watch, watcher, cursor=99, timeout=0)).cursor == 2


async def test_a_poll_that_lost_events_says_so(watch: FileWatch, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "MAX_EVENTS", 4096)
    watcher = await begin(watch, home)
    held = watch._watches.get(watcher.watcher_id)
    assert held is not None
    (home / "f").touch()
    await poll(watch, watcher)
    held._events.clear()
    assert (await poll(watch, watcher, timeout=0)).overflow


async def test_a_stream_begins_with_what_happened_before_it_and_resumes_after_an_event(watch: FileWatch, home: Path) -> None:
    watcher = await begin(watch, home)
    (home / "a").touch()
    await poll(watch, watcher)
    (home / "b").touch()
    await poll(watch, watcher, cursor=1)
    events = await stream(watch, watcher)
    started, first, second = await anext(events), await anext(events), await anext(events)
    assert (started.event, started.id) == ("watch_started", f"{watcher.watcher_id}:0")
    assert (first.event, first.id, second.id) == ("file_change", f"{watcher.watcher_id}:1", f"{watcher.watcher_id}:2")
    resumed = await stream(watch, watcher, after=first.id)
    assert (await anext(resumed)).id == first.id
    again = await anext(resumed)
    assert isinstance(again.data, FileEvent)
    assert (again.id, again.data.relative_path) == (second.id, "b")


async def test_a_stream_ends_when_its_watcher_is_stopped(watch: FileWatch, home: Path) -> None:
    watcher = await begin(watch, home)
    events = await stream(watch, watcher)
    await anext(events)
    waiting = asyncio.ensure_future(anext(events))
    await watch.stop_watch(WatcherRef(watcher_id=watcher.watcher_id))
    assert (await asyncio.wait_for(waiting, 30)).event == "watch_stopped"
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_a_stream_says_what_it_cannot_give_any_more_and_what_became_of_the_directory(watch: FileWatch, home: Path) -> None:
    (home / "d").mkdir()
    watcher = await begin(watch, home / "d")
    (home / "d").rmdir()
    (home / "d").mkdir()
    async with asyncio.timeout(30):
        names = [event.event async for event in take(await stream(watch, watcher), 3)]
    assert names == ["watch_started", "watch_lost", "watch_restored"]
    held = watch._watches.get(watcher.watcher_id)
    assert held is not None
    held._events.popleft()
    names = [event.event async for event in take(await stream(watch, watcher), 3)]
    assert names == ["watch_started", "overflow", "watch_restored"]


async def take(events: AsyncIterator[Event], count: int) -> AsyncIterator[Event]:
    for _ in range(count):
        yield await anext(events)


async def test_a_watcher_nobody_knows_is_not_found(watch: FileWatch) -> None:
    for attempt in (
        watch.stop_watch(WatcherRef(watcher_id="x")),
        watch.poll_events(PollRequest(watcher_id="x")),
        watch.watch_events(WatcherRef(watcher_id="x"), Call(Caller("test"), "1")),
    ):
        with pytest.raises(NotFound, match="no watcher 'x'"):
            await attempt


async def test_what_does_not_exist_cannot_be_watched(watch: FileWatch, home: Path) -> None:
    with pytest.raises(FileError) as error:
        await begin(watch, home / "missing")
    assert error.value.http_status == 404


async def test_one_file_is_watched_without_its_neighbours(watch: FileWatch, home: Path) -> None:
    (home / "f").touch()
    watcher = await begin(watch, home / "f")
    (home / "other").touch()
    with open(home / "f", "a") as file:  # one event of the kernel's: two may be told apart
        file.write("x")
    polled = await poll(watch, watcher)
    assert [(event.type, event.path) for event in polled.events] == [("write", f"{home}/f")]


async def begun(watch: FileWatch) -> Watch:
    """The watch with which `wait_for_file` waits, once it sees."""
    await eventually(lambda: watch._watches.all() and not watch._watches._starting)
    return watch._watches.all()[0]


async def test_waiting_for_a_file_that_is_there_ends_at_once(watch: FileWatch, home: Path) -> None:
    (home / "f").write_text("xyz")
    reply = await watch.wait_for_file(FileWaitRequest(path=f"{home}/f"))
    assert (reply.data.event.type, reply.data.event.size, reply.data.timed_out) == ("create", 3, False)
    assert reply.extra["event"] == reply.data.event


async def test_waiting_for_a_file_ends_when_it_appears(watch: FileWatch, home: Path) -> None:
    waiting = asyncio.ensure_future(watch.wait_for_file(FileWaitRequest(path=f"{home}/new/f", timeout=30)))
    await begun(watch)
    assert (await watch.list_watches()).data == ()
    (home / "new").mkdir()
    (home / "new/part").write_text("xyz")
    (home / "new/part").rename(home / "new/f")
    reply = await waiting
    assert (reply.data.event.type, reply.data.event.path) == ("create", f"{home}/new/f")
    assert watch._watches.all() == []


async def test_waiting_is_for_the_kinds_of_change_that_were_asked_for(watch: FileWatch, home: Path) -> None:
    (home / "f").touch()
    waiting = asyncio.ensure_future(watch.wait_for_file(FileWaitRequest(path=f"{home}/f", timeout=30, event_types=("remove",))))
    started = await begun(watch)
    (home / "f").write_text("x")
    await started.beyond(0)
    (home / "f").unlink()
    assert (await waiting).data.event.type == "remove"


async def test_nothing_in_time_is_an_answer_and_no_error(watch: FileWatch, home: Path) -> None:
    reply = await watch.wait_for_file(FileWaitRequest(path=f"{home}/f", timeout=1))
    assert (reply.data.event, reply.data.timed_out) == (None, True)
    assert "Nothing happened" in reply.message
