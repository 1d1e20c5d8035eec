"""Recordings of a page: begun, held, ended, and asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import Conflict, NotFound
from sandbox_server.drivers.browser.browser_client import BrowserTab
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser import page_recording
from sandbox_server.features.browser.page_recording import PageRecordings, PageRecordRequest
from tests.drivers.video.mp4 import BLUE, colours, plain, shown
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Owner:
    """Two tabs, the second in front."""

    socket = "socket"

    async def tabs(self) -> list[BrowserTab]:
        return [BrowserTab("behind", "", "", active=False), BrowserTab("front", "", "", active=True)]


class Cast:
    """A page of one colour."""

    closed = False

    async def picture(self) -> Image.Image:
        if self.closed:
            raise Conflict("the tab was closed")
        return plain(BLUE)


class Casts:
    """Every screencast that was asked for, and whether it still runs."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.running = 0
        self.last = Cast()

    @asynccontextmanager
    async def screencast(self, socket: str, page: str, quality: int) -> AsyncIterator[Cast]:
        self.asked.append((socket, page, quality))
        self.running += 1
        self.last = Cast()
        yield self.last
        self.running -= 1


@pytest.fixture
def casts(monkeypatch: pytest.MonkeyPatch) -> Casts:
    made = Casts()
    monkeypatch.setattr(page_recording, "screencast", made.screencast)
    return made


@pytest.fixture
async def recordings(casts: Casts, files: Files) -> AsyncIterator[PageRecordings]:
    async with PageRecordings(Owner(), files) as opened:  # type: ignore[arg-type] # all that is used
        yield opened


def asking(action: str, **more: object) -> PageRecordRequest:
    return PageRecordRequest.model_validate({"action": action, **more})


async def is_in(recordings: PageRecordings, state: str) -> bool:
    return bool((await recordings.record(asking("status")))["status"] == state)


async def test_once_records_for_so_long_and_answers_at_the_end(recordings: PageRecordings, casts: Casts, home: Path) -> None:
    answer = await recordings.record(asking("once", duration=0.3, save_path="~/recording.mp4", quality=40))
    assert (answer["status"], answer["save_path"], answer["error"], answer["recordings"]) == ("stopped", f"{home}/recording.mp4", None, [])
    assert (answer["duration"], shown(home / "recording.mp4")[-1].at) == (0.3, 0.3)
    assert (casts.asked, colours(home / "recording.mp4")) == ([("socket", "front", 40)], ["blue"])


async def test_a_film_is_begun_held_continued_and_ended(recordings: PageRecordings, casts: Casts, home: Path) -> None:
    assert (await recordings.record(asking("status")))["status"] == "idle"
    states = [
        (await recordings.record(asking(action, save_path="~/f.mp4")))["status"]
        for action in ("start", "pause", "resume", "status", "stop")
    ]
    assert states == ["recording", "paused", "recording", "recording", "stopped"]
    await eventually(lambda: not casts.running)
    assert colours(home / "f.mp4") == ["blue"]
    with pytest.raises(NotFound):
        await recordings.record(asking("stop", save_path="~/other.mp4"))


async def test_a_tab_that_is_closed_ends_its_film(recordings: PageRecordings, casts: Casts, home: Path) -> None:
    await recordings.record(asking("start", save_path="~/f.mp4"))
    casts.last.closed = True
    await eventually(lambda: is_in(recordings, "stopped"))
    answer = await recordings.record(asking("status"))
    assert (answer["error"], colours(home / "f.mp4")) == ("the tab was closed", ["blue"])


async def test_a_caller_who_leaves_ends_the_film_whole(recordings: PageRecordings, casts: Casts, home: Path) -> None:
    asked = asyncio.create_task(recordings.record(asking("once", duration=600, save_path="~/f.mp4")))
    await eventually(lambda: is_in(recordings, "recording"))
    asked.cancel()
    await asyncio.wait([asked])
    assert (asked.cancelled(), colours(home / "f.mp4")) == (True, ["blue"])


@pytest.mark.parametrize("beyond", [{"fps": 61}, {"duration": 3601}])
async def test_what_is_beyond_bounds_is_refused(recordings: PageRecordings, casts: Casts, beyond: dict[str, float]) -> None:
    with pytest.raises(InvalidFields) as refused:
        await recordings.record(asking("once", **beyond))
    assert ([problem["loc"] for problem in refused.value.problems], casts.asked) == ([tuple(beyond)], [])
