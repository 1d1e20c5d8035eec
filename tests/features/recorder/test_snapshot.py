"""What looks at the computer for a receipt."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.recorder.snapshot import ComputerSnapshots

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio
NAME = "0123456789abcdef-after"


class Desktop:
    """A screen and windows of a test's own."""

    def __init__(self) -> None:
        self.screen = self.windows = self
        self.gone = False

    async def size(self) -> tuple[int, int]:
        return 1280, 1024

    async def shoot(self, form: str, *, quality: int, scale: float) -> Any:
        return SimpleNamespace(body=b"%s %d %.3f" % (form.encode(), quality, scale))

    async def all(self) -> list[Any]:
        if self.gone:
            raise Unavailable("no desktop")
        return [SimpleNamespace(xid=7, title="", program="xterm"), SimpleNamespace(xid=8, title="Page", program="Chromium")]


class Fields:
    def __init__(self) -> None:
        self.watched = 0

    async def watch(self, changed: Any) -> None:
        self.watched += 1


class Setup:
    def __init__(self, folder: Path, processes: Any = None, *places: str) -> None:
        self.desktop, self.fields, self.private, self.tabs = Desktop(), Fields(), False, {"1": "https://a.example/"}
        self.thumbnails = Thumbnails(str(folder))
        downloads = SimpleNamespace(
            all=[
                SimpleNamespace(started=10.0, path=None, suggested_filename="old"),
                SimpleNamespace(started=20.0, path="/d/new", suggested_filename="new"),
            ]
        )
        self.snapshots = ComputerSnapshots(
            cast("Any", self.desktop),
            lambda: self.tabs,
            processes,
            places,
            cast("Any", downloads),
            self.thumbnails,
            cast("Any", self.fields),
            lambda: self.private,
        )


async def test_a_look_has_tabs_windows_and_a_small_picture(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    look = await setup.snapshots.look(NAME)
    assert (look.tabs, look.windows) == ({"1": "https://a.example/"}, {7: "xterm", 8: "Page"})
    assert look.picture == f"/v1/recorder/thumbnails/{NAME}"
    assert setup.thumbnails.read(NAME) == b"jpeg 60 0.375"


async def test_in_private_no_picture_is_kept(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.private = True
    assert (await setup.snapshots.look(NAME)).picture is None
    assert (await setup.snapshots.blind()).picture is None
    assert setup.thumbnails.files() == []


async def test_what_cannot_be_seen_is_not_told(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.desktop.gone = True
    assert (await setup.snapshots.blind()).windows is None


async def test_no_browser_is_started_to_watch_its_fields(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    await setup.snapshots.fields(lambda _: None)
    setup.tabs = {}
    await setup.snapshots.fields(lambda _: None)
    assert setup.fields.watched == 1


async def test_downloads_since_a_moment_are_told_by_where_they_are(tmp_path: Path) -> None:
    assert Setup(tmp_path).snapshots.downloads_since(15.0) == ["/d/new"]


async def test_files_that_changed_are_found_and_those_of_programs_are_not(tmp_path: Path, home: Path, spawner: "SpawnerDaemon") -> None:
    (home / "old.txt").write_text("old")
    for folder in (".cache", "node_modules", "work"):
        (home / folder).mkdir()
    spent = Setup(tmp_path, Processes(spawner.socket), str(home))
    time.sleep(0.1)
    since = time.time()
    for name in ("work/new.txt", ".cache/x", "node_modules/y", ".bash_history", ".env"):
        (home / name).write_text(name)
    assert await spent.snapshots.files_since(since) == [str(home / ".env"), str(home / "work/new.txt")]
