"""Recordings go into the agent's files, several at once, each known by its path."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from sandbox_server.core.errors import Conflict, FileError, NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.video.recording import RecordingOptions
from sandbox_server.drivers.video.recordings import MAX_ENDED, MAX_RECORDINGS, Recordings
from tests.drivers.video.mp4 import BLUE, colours, plain

pytestmark = pytest.mark.anyio

OPTIONS = RecordingOptions(fps=20, crf=20, seconds=600)


class Still:
    """A picture that stays."""

    async def picture(self) -> Image.Image:
        return plain(BLUE)


class Nothing:
    """Nothing to see."""

    async def picture(self) -> Image.Image:
        raise Unavailable("the curtain is down")


@pytest.fixture
async def recordings(files: Files) -> AsyncIterator[Recordings]:
    async with Recordings(files, "test") as opened:
        yield opened


async def test_a_film_is_the_agents_and_is_there_while_it_is_made(recordings: Recordings, home: Path) -> None:
    recording = await recordings.start("~/new/recording.mp4", OPTIONS, Still())
    made = home / "new/recording.mp4"
    assert (recording.path, made.stat().st_uid, recordings.running) == (str(made), home.stat().st_uid, (recording,))
    await recording.stop()
    assert (colours(made), recordings.running, recordings.find(str(made))) == (["blue"], (), recording)


async def test_a_file_that_is_there_is_replaced(recordings: Recordings, home: Path) -> None:
    (home / "recording.mp4").write_text("an older recording")
    os.chown(home / "recording.mp4", home.stat().st_uid, home.stat().st_gid)
    await (await recordings.start("~/recording.mp4", OPTIONS, Still())).stop()
    assert colours(home / "recording.mp4") == ["blue"]


async def test_a_file_that_can_be_written_and_not_replaced_is_overwritten(recordings: Recordings, home: Path) -> None:
    made = home / "closed/recording.mp4"
    made.parent.mkdir()
    made.write_text("an older recording")
    os.chown(made, home.stat().st_uid, home.stat().st_gid)
    made.parent.chmod(0o555)
    await (await recordings.start(str(made), OPTIONS, Still())).stop()
    assert colours(made) == ["blue"]


async def test_two_films_never_share_a_file(recordings: Recordings) -> None:
    await recordings.start("~/recording.mp4", OPTIONS, Still())
    with pytest.raises(Conflict, match=r"recording\.mp4"):
        await recordings.start("~/./recording.mp4", OPTIONS, Still())


async def test_there_is_a_limit_to_what_runs_at_once(recordings: Recordings) -> None:
    for number in range(MAX_RECORDINGS):
        await recordings.start(f"~/{number}.mp4", OPTIONS, Still())
    with pytest.raises(ResourceExhausted):
        await recordings.start("~/more.mp4", OPTIONS, Still())


async def test_the_latest_is_meant_where_no_path_is_given(recordings: Recordings) -> None:
    assert recordings.find(None) is None
    first = await recordings.start("~/1.mp4", OPTIONS, Still())
    second = await recordings.start("~/2.mp4", OPTIONS, Still())
    assert recordings.find(None) is second
    await second.stop()
    assert recordings.find(None) is first
    await first.stop()
    assert recordings.find(None) is first
    with pytest.raises(NotFound):
        recordings.find("~/3.mp4")


async def test_films_without_a_path_get_one_each(recordings: Recordings) -> None:
    made = [await recordings.start(None, OPTIONS, Still()) for _ in range(2)]
    assert made[0].path != made[1].path
    assert all(recording.path.startswith("/tmp/recordings/test_") for recording in made)
    for recording in made:
        await recording.stop()
        os.unlink(recording.path)


async def test_what_cannot_be_written_is_refused_with_the_agents_rights(recordings: Recordings) -> None:
    with pytest.raises(FileError):
        await recordings.start("/proc/recording.mp4", OPTIONS, Still())
    assert recordings.running == ()


async def test_of_nothing_to_see_there_is_no_film(recordings: Recordings, home: Path) -> None:
    with pytest.raises(Unavailable, match="the curtain is down"):
        await recordings.start("~/recording.mp4", OPTIONS, Nothing())
    assert list(home.iterdir()) == []


async def test_only_the_last_ones_are_remembered(recordings: Recordings, home: Path) -> None:
    for number in range(MAX_ENDED + 1):
        await (await recordings.start(f"~/{number}.mp4", OPTIONS, Still())).stop()
    assert recordings.find(f"~/{MAX_ENDED}.mp4")
    with pytest.raises(NotFound):
        recordings.find("~/0.mp4")


async def test_leaving_ends_every_film_whole(files: Files, home: Path) -> None:
    async with Recordings(files, "test") as recordings:
        for number in range(2):
            await recordings.start(f"~/{number}.mp4", OPTIONS, Still())
    assert [colours(home / f"{number}.mp4") for number in range(2)] == [["blue"], ["blue"]]
