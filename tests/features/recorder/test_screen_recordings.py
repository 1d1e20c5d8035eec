"""Films as they are asked for."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from sandbox_server.core import Call, Caller, NotFound, ResourceExhausted
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.recording_segments import RecordingSegments
from sandbox_server.drivers.recorder.screen_recorder import ScreenRecorder
from sandbox_server.features.recorder.screen_recordings import PinRecordings, PinRef, RecordedScreen, ScreenRecordingRef

pytestmark = pytest.mark.anyio
ANN = Call(Caller("ann", person=True), "1")
START = 2_000_000_000.0


async def nothing() -> Any:
    raise AssertionError("nobody acts")


@pytest.fixture
async def video(tmp_path: Path) -> AsyncIterator[RecordedScreen]:
    segments = RecordingSegments(str(tmp_path / "video"), 2000, 1e12)
    fd, path = segments.begin(START)
    os.write(fd, bytes(range(200)) * 4)
    os.close(fd)
    segments.end(path, 60)
    async with (
        Journal(EventLog(str(tmp_path / "events"), 1 << 20)) as journal,
        ScreenRecorder(nothing, cast("Any", None), segments, lambda: False) as recorder,
    ):
        yield RecordedScreen(segments, recorder, journal)


async def test_a_film_is_read_in_part_or_whole(video: RecordedScreen) -> None:
    [film] = (await video.list_films()).films
    assert (film.start, film.end, film.bytes, film.pinned) == (START, START + 60, 800, False)
    content = await video.get_film(ScreenRecordingRef(name=film.name))
    assert b"".join([piece async for piece in content.read(10, 13)]) == bytes([10, 11, 12])
    assert len(b"".join([piece async for piece in content.read(0, content.size)])) == 800
    content.close()
    with pytest.raises(NotFound):
        await video.get_film(ScreenRecordingRef(name="7"))


async def test_what_is_pinned_is_shown_and_let_go_again(video: RecordedScreen) -> None:
    pin = await video.pin_films(PinRecordings(since=START + 10, until=START + 20, note="why"), ANN)
    shown = await video.list_films()
    assert (shown.films[0].pinned, shown.pins, shown.filming) == (True, [pin], False)
    assert (pin.by, pin.note) == ("ann", "why")
    await video.unpin_films(PinRef(id=pin.id), ANN)
    assert not (await video.list_films()).films[0].pinned
    with pytest.raises(NotFound):
        await video.unpin_films(PinRef(id=pin.id), ANN)


async def test_the_last_ten_minutes_are_pinned_where_nothing_is_said(video: RecordedScreen) -> None:
    pin = await video.pin_films(PinRecordings(), ANN)
    assert pin.until - pin.since == 600


async def test_no_more_is_pinned_than_half_of_the_room(video: RecordedScreen, tmp_path: Path) -> None:
    (tmp_path / "video" / "2000000060000-60000.mp4").write_bytes(b"x" * 900)
    with pytest.raises(ResourceExhausted):
        await video.pin_films(PinRecordings(since=START, until=START + 100), ANN)
    assert (await video.list_films()).pins == []
