"""Recording the display: what is answered, and that the recording shows the screen."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.x11.screenshot import Size
from sandbox_server.features.display import Display, DisplayRecordRequest
from tests.drivers.video.mp4 import BLUE, colours, plain, size

pytestmark = pytest.mark.anyio


class Screen:
    """A screen of one colour."""

    on = True

    async def grab(self) -> tuple[Image.Image, Size]:
        if not self.on:
            raise Unavailable("the desktop cannot be reached: it is not running")
        return plain(BLUE, (101, 80)), (101, 80)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
async def display(files: Files, screen: Screen) -> AsyncIterator[Display]:
    async with Display(screen, PulseAudio("/nonexistent"), files) as opened:
        yield opened


def asking(action: str, **more: object) -> DisplayRecordRequest:
    return DisplayRecordRequest.model_validate({"action": action, **more})


async def test_before_anything_is_recorded_it_is_idle(display: Display) -> None:
    for action in ("status", "stop"):
        answer = await display.record(asking(action))
        assert (answer.status, answer.save_path, answer.duration) == ("idle", None, 0)


async def test_a_film_of_the_screen_is_started_asked_for_and_stopped(display: Display, home: Path) -> None:
    started = await display.record(asking("start", save_path="~/recording.mp4"))
    assert (started.status, started.save_path, started.recordings) == ("recording", f"{home}/recording.mp4", [f"{home}/recording.mp4"])
    assert (await display.record(asking("status"))).status == "recording"
    stopped = await display.record(asking("stop"))
    video = home / "recording.mp4"
    assert (stopped.status, stopped.file_size_bytes, stopped.error) == ("stopped", video.stat().st_size, None)
    assert (colours(video), size(video)) == (["blue"], (100, 80))


async def test_several_films_are_told_apart_by_their_paths(display: Display) -> None:
    for name in ("1", "2"):
        await display.record(asking("start", save_path=f"~/{name}.mp4"))
    first = await display.record(asking("stop", save_path="~/1.mp4"))
    assert (first.status, len(first.recordings)) == ("stopped", 1)
    assert (await display.record(asking("status", save_path="~/2.mp4"))).status == "recording"
    with pytest.raises(NotFound):
        await display.record(asking("stop", save_path="~/3.mp4"))


async def test_a_film_that_is_too_large_names_the_field(display: Display) -> None:
    with pytest.raises(InvalidFields) as refused:
        await display.record(asking("start", width=4000, height=100))
    assert [problem["loc"] for problem in refused.value.problems] == [("width",)]


async def test_without_a_desktop_nothing_is_recorded(display: Display, screen: Screen, home: Path) -> None:
    screen.on = False
    with pytest.raises(Unavailable, match="not running"):
        await display.record(asking("start", save_path="~/recording.mp4"))
    assert list(home.iterdir()) == []
