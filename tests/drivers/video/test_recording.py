"""A recording makes a recording of what it sees, with pauses, until it is stopped, over, or fails."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.video.mp4_writer import Mp4Writer
from sandbox_server.drivers.video.recording import Recording, RecordingOptions
from tests.drivers.video.mp4 import BLUE, GREEN, RED, colours, loudness, plain, shown, size
from tests.patience import until
from tests.threads import Held, cancelled_in_the_middle

pytestmark = pytest.mark.anyio

LONG = RecordingOptions(fps=20, crf=20, seconds=600)


class Scene:
    """Shows one picture until it is given another, and counts how often it was looked at."""

    def __init__(self) -> None:
        self.now: Image.Image | None = plain(RED)
        self.looks = 0
        self._looked = asyncio.Event()

    async def picture(self) -> Image.Image:
        self.looks += 1
        self._looked.set()
        if self.now is None:
            raise Unavailable("nothing to see")
        return self.now

    async def show(self, picture: Image.Image | None, times: int = 2) -> None:
        """Show another picture until it was looked at."""
        self.now = picture
        for _ in range(times):
            self._looked.clear()
            await self._looked.wait()


class Noise:
    """Plays a loud click after another."""

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._clicks()

    async def _clicks(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.02)
            yield (20000).to_bytes(2, "little") * 1920


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "recording.mp4"


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    async with Tasks() as opened:
        yield opened


def recording_of(scene: Scene, file: Path, options: RecordingOptions = LONG, noise: Noise | None = None) -> Recording:
    return Recording(str(file), os.open(file, os.O_CREAT | os.O_RDWR), options, scene, noise)


async def test_a_recording_shows_what_was_seen_until_it_is_stopped(file: Path, tasks: Tasks) -> None:
    scene = Scene()
    recording = recording_of(scene, file)
    tasks.start(recording.run())
    await recording.started.wait()
    for colour in (GREEN, BLUE):
        await scene.show(plain(colour))
    await recording.stop()
    assert colours(file) == ["red", "green", "blue"]
    assert (recording.state, recording.failure, recording.size_bytes) == ("stopped", None, file.stat().st_size)
    assert recording.frames == len(shown(file))


async def test_a_pause_is_not_in_the_film(file: Path, tasks: Tasks) -> None:
    scene = Scene()
    recording = recording_of(scene, file)
    tasks.start(recording.run())
    await scene.show(plain(RED))
    recording.pause()
    assert recording.state == "paused"
    length, looks = recording.duration, scene.looks
    scene.now = plain(GREEN)
    await asyncio.sleep(4 / LONG.fps)
    assert scene.looks <= looks + 1  # one may have been on its way
    assert recording.duration == length
    scene.now = plain(BLUE)
    recording.resume()
    await scene.show(plain(BLUE))
    await recording.stop()
    assert "blue" in colours(file)


async def test_a_recording_ends_by_itself_when_its_time_is_over(file: Path, tasks: Tasks) -> None:
    recording = recording_of(Scene(), file, replace(LONG, seconds=0.5))
    tasks.start(recording.run())
    async with asyncio.timeout(30):
        await recording.ended()
    assert (recording.state, recording.duration) == ("stopped", 0.5)
    assert shown(file)[-1].at == 0.5


async def test_what_cannot_be_seen_for_a_while_looks_as_it_did(file: Path, tasks: Tasks) -> None:
    scene = Scene()
    recording = recording_of(scene, file)
    tasks.start(recording.run())
    await recording.started.wait()
    await scene.show(None)
    await scene.show(plain(BLUE))
    await recording.stop()
    assert (colours(file), recording.failure) == (["red", "blue"], None)


async def test_a_recording_of_nothing_says_so(file: Path) -> None:
    scene = Scene()
    scene.now = None
    recording = recording_of(scene, file)
    await recording.run()
    assert (recording.state, recording.failure) == ("stopped", "nothing to see")
    assert recording.started.is_set()


async def test_a_full_disk_ends_a_recording_and_is_said(tasks: Tasks) -> None:
    recording = Recording("/dev/full", os.open("/dev/full", os.O_WRONLY), LONG, Scene(), None)
    async with asyncio.timeout(30):
        await recording.run()
    assert recording.failure == "the file could not be written: No space left on device"


async def test_a_film_has_the_size_that_was_asked_for_in_even_numbers(file: Path, tasks: Tasks) -> None:
    recording = recording_of(Scene(), file, replace(LONG, size=(33, None)))
    tasks.start(recording.run())
    await recording.started.wait()
    await recording.stop()
    assert size(file) == (32, 48)


async def test_sound_comes_with_the_pictures(file: Path, tasks: Tasks) -> None:
    scene = Scene()
    recording = recording_of(scene, file, noise=Noise())
    tasks.start(recording.run())
    await scene.show(plain(BLUE), times=10)
    await recording.stop()
    assert max(loudness(file)) > 15000


@pytest.mark.parametrize("middle", ["__init__", "show"])
async def test_a_recording_that_is_cancelled_keeps_its_file_open_until_its_thread_has_ended(
    file: Path, monkeypatch: pytest.MonkeyPatch, middle: str
) -> None:
    recording = recording_of(Scene(), file)
    held = Held(getattr(Mp4Writer, middle), lambda *_: os.path.exists(f"/proc/self/fd/{recording._fd}"))
    monkeypatch.setattr(Mp4Writer, middle, lambda *given, **named: held(*given, **named))
    await cancelled_in_the_middle(asyncio.create_task(recording.run()), held)
    assert set(held.notes) == {True}
    await asyncio.to_thread(until, lambda: not os.path.exists(f"/proc/self/fd/{recording._fd}"))
