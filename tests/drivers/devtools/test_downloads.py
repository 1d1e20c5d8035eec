"""What the browser has saved gets to the agent's files, whole and under a name of its own."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import MAX_DOWNLOADS, Download, Downloads, _copy
from sandbox_server.drivers.files.files import Files
from tests.drivers.devtools.conftest import Tab
from tests.patience import eventually
from tests.threads import Held, cancelled_in_the_middle

pytestmark = pytest.mark.anyio


class Told:
    """What tells of downloads, by hand."""

    def __init__(self) -> None:
        self.tell: Callable[[str | None, str, dict[str, Any]], None] = lambda *_: None

    def listen(self, listener: Callable[[str | None, str, dict[str, Any]], None]) -> None:
        self.tell = listener

    def begin(self, number: str, name: str) -> None:
        self.tell(None, "Browser.downloadWillBegin", {"guid": number, "url": f"http://a/{name}", "suggestedFilename": name})

    def progress(self, number: str, state: str, **more: object) -> None:
        self.tell(None, "Browser.downloadProgress", {"guid": number, "receivedBytes": 3.0, "totalBytes": 6.0, "state": state, **more})


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the browser saves."""
    (tmp_path / "saved").mkdir()
    return tmp_path / "saved"


@pytest.fixture
async def downloads(told: Told, files: Files, folder: Path) -> AsyncIterator[Downloads]:
    async with Downloads(told, files, str(folder), "~/Downloads") as opened:  # type: ignore[arg-type] # all that is used
        yield opened


def save(folder: Path, name: str, content: str = "whole") -> None:
    """Save a file as the browser does."""
    (folder / f"{name}.crdownload").write_text(content)
    os.rename(folder / f"{name}.crdownload", folder / name)


async def ended(downloads: Downloads, count: int = 1) -> list[Download]:
    """The downloads that have ended, once there are so many."""
    await eventually(lambda: len(done(downloads)) >= count)
    return done(downloads)


def done(downloads: Downloads) -> list[Download]:
    return [each for each in downloads.all if each.state != "in_progress"]


async def test_a_download_is_followed_and_handed_over(downloads: Downloads, told: Told, folder: Path, home: Path) -> None:
    told.begin("1", "a.txt")
    told.progress("1", "inProgress")
    [running] = downloads.all
    assert (running.state, running.received, running.total, running.path) == ("in_progress", 3, 6, None)
    told.progress("1", "completed", filePath=f"{folder}/a.txt")
    save(folder, "a.txt")
    [download] = await ended(downloads)
    assert (download.id, download.state, download.path, download.url) == ("1", "completed", "~/Downloads/a.txt", "http://a/a.txt")
    made = home / "Downloads/a.txt"
    assert (made.read_text(), made.stat().st_uid, list(folder.iterdir())) == ("whole", home.stat().st_uid, [])


async def test_a_file_may_be_there_before_the_browser_says_so(downloads: Downloads, told: Told, folder: Path) -> None:
    told.begin("1", "a.txt")
    save(folder, "a.txt")
    await ended(downloads)
    told.progress("1", "completed", filePath=f"{folder}/a.txt")
    [download] = downloads.all
    assert (download.id, download.state, download.path) == ("1", "completed", "~/Downloads/a.txt")


@pytest.mark.parametrize("first_file_is_early", [False, True])
async def test_a_second_download_of_the_same_name_has_an_end_of_its_own(
    downloads: Downloads, told: Told, folder: Path, *, first_file_is_early: bool
) -> None:
    told.begin("1", "a.txt")
    if first_file_is_early:
        save(folder, "a.txt")
        await ended(downloads)
    told.progress("1", "completed", filePath=f"{folder}/a.txt")
    if not first_file_is_early:
        save(folder, "a.txt")
        await ended(downloads)
    told.begin("2", "a.txt")
    told.progress("2", "completed", filePath=f"{folder}/a.txt")
    assert [each.state for each in downloads.all] == ["completed", "in_progress"]
    save(folder, "a.txt")
    await ended(downloads, 2)
    assert [each.path for each in downloads.all] == ["~/Downloads/a.txt", "~/Downloads/a (1).txt"]


async def test_a_name_that_is_taken_gets_a_number(downloads: Downloads, folder: Path, home: Path) -> None:
    for number in range(2):
        save(folder, "a.tar", str(number))
        await ended(downloads, number + 1)
    assert [(home / "Downloads" / name).read_text() for name in ("a.tar", "a (1).tar")] == ["0", "1"]


async def test_what_was_saved_while_nobody_looked_is_handed_over(told: Told, files: Files, folder: Path, home: Path) -> None:
    save(folder, "before.txt")
    (folder / "half.txt.crdownload").write_text("ha")
    async with Downloads(told, files, str(folder), "~/Downloads") as downloads:  # type: ignore[arg-type] # all that is used
        await ended(downloads)
    assert os.listdir(home / "Downloads") == ["before.txt"]
    assert os.listdir(folder) == ["half.txt.crdownload"]


async def test_a_download_that_cannot_be_handed_over_says_why(downloads: Downloads, folder: Path, home: Path) -> None:
    (home / "Downloads").write_text("in the way")
    save(folder, "a.txt")
    [download] = await ended(downloads)
    assert (download.state, download.path, bool(download.error)) == ("failed", None, True)
    assert (folder / "a.txt").exists()


async def test_waiting_ends_with_a_download_that_runs_and_not_with_an_older_one(downloads: Downloads, told: Told) -> None:
    told.begin("1", "old")
    told.progress("1", "canceled")
    told.begin("2", "new")
    waiting = asyncio.create_task(downloads.next(20))
    await asyncio.sleep(0)
    told.progress("2", "canceled")
    assert (await waiting).id == "2"
    with pytest.raises(TimeoutError):
        await downloads.next(0.01)


async def test_who_asked_is_told_of_beginnings_and_only_the_latest_are_remembered(downloads: Downloads, told: Told) -> None:
    begun: list[str] = []
    downloads.on_begin(lambda download: begun.append(download.suggested_filename))
    for number in range(MAX_DOWNLOADS + 1):
        told.begin(str(number), f"{number}.txt")
    assert (len(begun), len(downloads.all), downloads.all[0].id) == (MAX_DOWNLOADS + 1, MAX_DOWNLOADS, "1")


async def test_a_real_download_arrives(shared: Any, devtools: Devtools, files: Files, tab: Tab, site: str, home: Path) -> None:
    saved = str(Path(shared.home) / "downloads")
    async with Downloads(devtools, files, saved, "~/Downloads") as downloads:
        waiting = asyncio.create_task(downloads.next(30))
        await asyncio.to_thread(tab.command, "Page.navigate", url=f"{site}/file")
        download = await waiting
    assert (download.suggested_filename, download.state, download.error) == ("data.bin", "completed", None)
    assert (home / "Downloads/data.bin").stat().st_size == 100_000


async def test_a_file_stays_open_while_a_thread_reads_it(files: Files, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "late").write_text("whole")
    opened = os.open(home / "late", os.O_RDONLY)
    held = Held(os.read, lambda fd, _: os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
    monkeypatch.setattr("sandbox_server.drivers.devtools.downloads.os", SimpleNamespace(read=held))

    async def deliver() -> None:
        try:
            with await files.access("download").stage(str(home / "copy")) as staged:
                await _copy(opened, staged)
        finally:
            os.close(opened)

    await cancelled_in_the_middle(asyncio.create_task(deliver()), held)
    assert held.notes == ["late"]
