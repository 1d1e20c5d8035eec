import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core.errors import FileError, ResourceExhausted
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.staged_writes import STAGING_PREFIX
from sandbox_server.drivers.watches import watches as module
from sandbox_server.drivers.watches.watches import Watch, Watches, WatchEvent

if TYPE_CHECKING:
    from tests.conftest import FileWorkers

pytestmark = pytest.mark.anyio

type Seen = list[tuple[str, str]]
type Watching = Callable[..., Awaitable[Watch]]


@pytest.fixture
async def watches(workers: "FileWorkers") -> AsyncIterator[Watches]:
    async with Watches(workers) as opened:
        yield opened


@pytest.fixture
def watching(watches: Watches, home: Path) -> Watching:
    async def start(path: Path = home, **options: object) -> Watch:
        settings = {"tree": True, "recursive": True, "exclude": (), "include": (), "debounce": 0.02} | options
        watch = Watch(str(path), **settings)  # type: ignore[arg-type]
        await watches.add(watch)
        return watch

    return start


async def seen(watch: Watch, *, until: tuple[str, str]) -> Seen:
    """Everything that was reported up to an event of that type and relative path, as (type, relative path)."""
    async with asyncio.timeout(30):
        while until not in (events := brief(watch.after(0, 10_000)[0])):
            await watch.beyond(watch.last)
    return events[: events.index(until) + 1]


def brief(events: list[WatchEvent]) -> Seen:
    return [(event.type, event.relative_path) for event in events]


async def test_what_happens_to_a_file_is_reported_in_order(watching: Watching, home: Path) -> None:
    watch = await watching()
    (home / "f").touch()  # one event of the kernel's, as each that follows: two may be told apart
    await seen(watch, until=("create", "f"))
    with open(home / "f", "a") as file:
        file.write("y")
    await seen(watch, until=("write", "f"))
    (home / "f").chmod(0o600)
    await seen(watch, until=("chmod", "f"))
    (home / "f").unlink()
    events = await seen(watch, until=("remove", "f"))
    assert events == [("create", "f"), ("write", "f"), ("chmod", "f"), ("remove", "f")]
    assert [event.seq for event in watch.after(0, 10)[0]] == [1, 2, 3, 4]


async def test_a_rename_is_one_event_with_both_paths(watching: Watching, home: Path) -> None:
    (home / "old").touch()
    (home / "sub").mkdir()
    watch = await watching()
    (home / "old").rename(home / "sub/new")
    await seen(watch, until=("rename", "sub/new"))
    [event] = watch.after(0, 10)[0]
    assert (event.old_path, event.path, event.is_dir) == (f"{home}/old", f"{home}/sub/new", False)


async def test_a_renamed_directory_is_still_watched_under_its_new_name(watching: Watching, home: Path) -> None:
    (home / "old/deep").mkdir(parents=True)
    watch = await watching()
    (home / "old").rename(home / "new")
    (home / "new/deep/f").touch()
    assert await seen(watch, until=("create", "new/deep/f")) == [("rename", "new"), ("create", "new/deep/f")]


async def test_what_leaves_the_tree_is_removed_and_no_longer_watched(watching: Watching, home: Path, tmp_path: Path) -> None:
    (home / "dir").mkdir()
    watch = await watching()
    shutil.move(home / "dir", tmp_path / "dir")
    await seen(watch, until=("remove", "dir"))
    (tmp_path / "dir/f").touch()
    (home / "last").touch()
    assert await seen(watch, until=("create", "last")) == [("remove", "dir"), ("create", "last")]


async def test_files_in_a_directory_that_was_just_made_are_not_missed(watching: Watching, home: Path) -> None:
    watch = await watching()
    for number in range(20):
        (home / f"{number}/a/b").mkdir(parents=True)
        (home / f"{number}/a/b/f").touch()
    (home / "last").touch()
    events = await seen(watch, until=("create", "last"))
    assert {f"{number}/a/b/f" for number in range(20)} <= {path for kind, path in events if kind == "create"}
    assert len(events) == len(set(events))


async def test_only_the_directory_itself_is_watched_when_asked(watching: Watching, home: Path) -> None:
    (home / "sub").mkdir()
    watch = await watching(recursive=False)
    (home / "sub/f").touch()
    (home / "last").touch()
    assert await seen(watch, until=("create", "last")) == [("create", "last")]


async def test_what_is_excluded_is_not_reported(watching: Watching, home: Path) -> None:
    watch = await watching(exclude=("node_modules", "*.pyc"))
    (home / "node_modules/deep").mkdir(parents=True)
    (home / "node_modules/deep/f").touch()
    (home / "f.pyc").touch()
    (home / "last").touch()
    assert await seen(watch, until=("create", "last")) == [("create", "last")]


async def test_only_what_is_included_is_reported(watching: Watching, home: Path) -> None:
    watch = await watching(include=("*.py",))
    (home / "dir").mkdir()
    (home / "dir/f.py").touch()
    (home / "dir/f.txt").touch()
    (home / "last.py").touch()
    assert sorted(await seen(watch, until=("create", "last.py"))) == [("create", "dir/f.py"), ("create", "last.py")]


async def test_a_directory_that_is_removed_and_made_again_is_watched_again(watching: Watching, home: Path) -> None:
    root = home / "dist"
    for _ in range(3):
        root.mkdir(exist_ok=True)
        watch = await watching(root)
        shutil.rmtree(root)
        root.mkdir()
        (root / "early").touch()
        await seen(watch, until=("create", "early"))
        (root / "late").touch()
        events = await seen(watch, until=("create", "late"))
        assert [kind for kind, path in events if path == "."] == ["lost", "restored"]
        shutil.rmtree(root)


async def test_a_directory_that_is_replaced_by_another_is_watched_again(watching: Watching, home: Path) -> None:
    (home / "current").mkdir()
    (home / "next").mkdir()
    (home / "next/there").touch()
    watch = await watching(home / "current")
    (home / "current").rename(home / "previous")
    (home / "next").rename(home / "current")
    events = await seen(watch, until=("create", "there"))
    assert events == [("lost", "."), ("restored", "."), ("create", "there")]
    (home / "previous/f").touch()
    (home / "current/last").touch()
    assert (await seen(watch, until=("create", "last")))[3:] == [("create", "last")]


async def test_a_link_that_is_pointed_elsewhere_is_followed(watching: Watching, home: Path) -> None:
    for name in ("one", "two"):
        (home / name).mkdir()
    (home / "link").symlink_to("one")
    watch = await watching(home / "link")
    (home / "fresh").symlink_to("two")
    (home / "fresh").rename(home / "link")
    await seen(watch, until=("restored", "."))
    (home / "two/f").touch()
    await seen(watch, until=("create", "f"))


async def test_a_directory_above_that_is_moved_away_and_back_is_noticed(watching: Watching, home: Path) -> None:
    (home / "a/b/c").mkdir(parents=True)
    watch = await watching(home / "a/b/c")
    (home / "a").rename(home / "x")
    await seen(watch, until=("lost", "."))
    (home / "x").rename(home / "a")
    await seen(watch, until=("restored", "."))
    (home / "a/b/c/f").touch()
    await seen(watch, until=("create", "f"))


async def test_a_dropped_event_of_the_kernel_is_an_overflow_and_the_watch_goes_on(
    watching: Watching, workers: "FileWorkers", home: Path
) -> None:
    (home / "sub").mkdir()
    watch = await watching()
    os.kill(workers.running[0].pid, signal.SIGSTOP)  # stopped: nobody reads, the kernel's queue fills
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        limit = int(file.read())
    for number in range(limit // 2 + 10):
        (home / "sub/f").touch()
        (home / "sub/f").rename(home / f"sub/g{number % 2}")
    (home / "made-meanwhile").mkdir()
    os.kill(workers.running[0].pid, signal.SIGCONT)
    await seen(watch, until=("overflow", "."))
    _, overflow = watch.after(0, 100_000)
    assert overflow
    (home / "made-meanwhile/f").touch()
    await seen(watch, until=("create", "made-meanwhile/f"))


async def test_a_file_that_is_written_through_the_api_is_one_change(watching: Watching, files: Files, home: Path) -> None:
    watch = await watching()
    access = files.access("write")
    await access.write(f"{home}/f", b"one")
    await seen(watch, until=("create", "f"))
    await access.write(f"{home}/f", b"two")
    events = await seen(watch, until=("write", "f"))
    assert events == [("create", "f"), ("write", "f")]
    assert not any(STAGING_PREFIX in path for _, path in events)


async def test_one_path_is_watched_before_there_is_anything(watching: Watching, home: Path) -> None:
    watch = await watching(home / "dir/f", tree=False)
    (home / "dir").mkdir()
    (home / "dir/other").touch()
    (home / "dir/part").write_text("x")
    (home / "dir/part").rename(home / "dir/f")
    await seen(watch, until=("create", "."))
    with open(home / "dir/f", "a") as file:
        file.write("y")
    await seen(watch, until=("write", "."))
    (home / "dir/f").unlink()
    events = await seen(watch, until=("remove", "."))
    assert [kind for kind, _ in events] == ["create", "write", "remove"]


async def test_a_file_that_is_replaced_is_written(watching: Watching, home: Path) -> None:
    (home / "f").write_text("old")
    watch = await watching(home / "f", tree=False)
    (home / "new").write_text("new")
    (home / "new").rename(home / "f")
    await seen(watch, until=("write", "."))


async def test_the_oldest_events_go_first_and_that_is_said(watching: Watching, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = await watching()
    for number in range(module.MAX_EVENTS + 5):
        watch.add({
            "type": "create", "path": f"/{number}", "relative_path": str(number), "old_path": None, "is_dir": False,
            "timestamp": 0.0, "mtime": None, "size": None, "inode": None,
        })  # fmt: skip
    events, overflow = watch.after(0, 1)
    assert (events[0].seq, overflow) == (6, True)
    assert watch.after(5, 1)[1] is False


async def test_waiting_ends_with_an_event_or_the_time_or_the_watch(watching: Watching, watches: Watches, home: Path) -> None:
    watch = await watching()
    assert not await watch.beyond(0, 0.01)
    waiting = asyncio.create_task(watch.beyond(0, 30))
    (home / "f").touch()
    assert await waiting
    waiting = asyncio.create_task(watch.beyond(watch.last))
    await watches.remove(watch.id)
    assert await asyncio.wait_for(waiting, 30)
    assert watch.stopped


async def test_a_stopped_watch_is_gone(watching: Watching, watches: Watches) -> None:
    watch = await watching()
    assert await watches.remove(watch.id)
    assert not await watches.remove(watch.id)
    assert watches.all() == []


async def test_a_worker_that_dies_is_replaced_and_every_watch_told(watching: Watching, workers: "FileWorkers", home: Path) -> None:
    watch = await watching()
    workers.running[0].kill()
    await seen(watch, until=("overflow", "."))
    (home / "f").touch()
    await seen(watch, until=("create", "f"))


async def test_there_is_a_limit_of_watches(watching: Watching, watches: Watches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WATCHES", 2)
    for _ in range(2):
        await watching()
    with pytest.raises(ResourceExhausted, match="stop one"):
        await watching()
    assert len(watches.all()) == 2


async def test_what_cannot_be_watched_is_refused_and_forgotten(watching: Watching, watches: Watches, home: Path) -> None:
    (home / "closed").mkdir(mode=0o700)
    for path, kind in ((home / "closed", "permission_denied"), (Path("/a\0b"), "invalid_path")):
        with pytest.raises(FileError) as error:
            await watching(path)
        assert error.value.error_type == kind
    assert watches.all() == []
