"""The recorder."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import pytest
from PIL import Image

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.recorder import screen_recorder as module
from sandbox_server.drivers.recorder.recording_segments import RecordingSegments
from sandbox_server.drivers.recorder.screen_recorder import ScreenRecorder
from tests.patience import eventually

pytestmark = pytest.mark.anyio
RED, GREEN = (200, 0, 0), (0, 200, 0)


class Screen:
    """A screen of one colour."""

    def __init__(self) -> None:
        self.colour = RED
        self.taken = self.opened = 0
        self.gone = self.private = False
        self.left, self.may_leave = asyncio.Event(), asyncio.Event()
        self.may_leave.set()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.opened += 1
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.left.set()
        await self.may_leave.wait()
        self.opened -= 1

    def become(self, colour: tuple[int, int, int]) -> None:
        self.colour = colour
        self._changed.set()

    async def look(self) -> None:
        if self.gone:
            raise Unavailable("no desktop")
        self._changed.clear()

    async def changed(self) -> None:
        await self._changed.wait()

    async def picture(self) -> Image.Image:
        self.taken += 1
        return Image.new("RGB", (64, 48), self.colour)


class Set:
    def __init__(self, folder: Path) -> None:
        self.screen, self.segments = Screen(), RecordingSegments(str(folder), 1 << 24, 1e12)
        self.recorder = ScreenRecorder(self.screen.picture, lambda: self.screen, self.segments, lambda: self.screen.private)

    async def over(self) -> None:
        await eventually(lambda: not self.recorder.recording)

    def colours(self) -> list[str]:
        """Which colour is the strongest in each picture of the first film, each once."""
        found = list[str]()
        with av.open(self.segments.all()[0].path) as film:
            for frame in film.decode(video=0):
                red, green, _ = frame.to_image().getpixel((5, 5))  # type: ignore[no-untyped-call] # the package leaves it out
                seen = "cover" if abs(red - green) < 40 else "red" if red > green else "green"
                found += [seen] if found[-1:] != [seen] else []
        return found


@pytest.fixture
async def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Set]:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(module, "AWAKE_SECONDS", 2.0)
    made = Set(tmp_path)
    async with made.recorder:
        yield made


async def test_nothing_is_filmed_while_nobody_acts(recorded: Set) -> None:
    assert (recorded.recorder.recording, recorded.screen.taken, recorded.screen.opened, recorded.segments.all()) == (False, 0, 0, [])


async def test_a_film_has_each_change_and_ends_a_while_after_the_last_act(recorded: Set) -> None:
    recorded.recorder.wake()
    await eventually(lambda: recorded.screen.taken)
    recorded.recorder.wake()
    recorded.screen.become(GREEN)
    await recorded.over()

    [film] = recorded.segments.all()
    assert film.over
    assert recorded.colours() == ["red", "green"]
    assert recorded.screen.opened == 0
    recorded.recorder.wake()
    assert recorded.recorder.recording


async def test_an_act_while_a_film_ends_is_filmed(recorded: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AWAKE_SECONDS", 0.1)
    recorded.screen.may_leave.clear()
    recorded.recorder.wake()
    async with asyncio.timeout(30):
        await recorded.screen.left.wait()
    before = recorded.screen.taken
    monkeypatch.setattr(module, "AWAKE_SECONDS", 600.0)
    recorded.recorder.wake()
    recorded.screen.may_leave.set()
    await eventually(lambda: recorded.screen.taken > before)


async def test_what_is_private_is_covered(recorded: Set) -> None:
    recorded.screen.private = True
    recorded.recorder.wake()
    await eventually(lambda: recorded.screen.taken)
    before = recorded.screen.taken
    recorded.screen.become(GREEN)
    recorded.screen.private = False
    await eventually(lambda: recorded.screen.taken > before)
    recorded.screen.private = True
    recorded.screen.become(RED)
    await recorded.over()
    assert "red" not in recorded.colours()


async def test_a_still_screen_is_covered_as_soon_as_it_is_private(recorded: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AWAKE_SECONDS", 600.0)
    recorded.recorder.wake()
    await eventually(lambda: recorded.screen.taken)
    before = recorded.screen.taken
    recorded.screen.private = True
    recorded.recorder.wake()  # that it became private is an act
    await eventually(lambda: recorded.screen.taken > before)
    monkeypatch.setattr(module, "AWAKE_SECONDS", 0.0)
    recorded.recorder.wake()
    recorded.screen.private = False
    await recorded.over()
    assert recorded.colours()[:2] == ["red", "cover"]


async def test_a_film_is_as_long_as_it_may_be_and_the_next_follows(recorded: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_SECONDS", 0.2)
    recorded.recorder.wake()
    await recorded.over()
    assert len(recorded.segments.all()) > 1


@pytest.mark.parametrize("jump", [-86_400, 86_400])
async def test_the_machines_clock_may_be_set_while_it_is_filmed(recorded: Set, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    recorded.recorder.wake()
    await eventually(lambda: recorded.screen.taken)
    moment = time.time()
    monkeypatch.setattr("time.time", lambda: moment + jump)
    recorded.screen.become(GREEN)
    await recorded.over()
    assert recorded.colours()[0] == "red"
    assert recorded.colours()[-1] == "green"
    assert [film.end - film.start < 60 for film in recorded.segments.all()] == [True]


async def test_without_a_screen_nothing_is_filmed_until_the_next_act(recorded: Set) -> None:
    recorded.screen.gone = True
    recorded.recorder.wake()
    await recorded.over()
    assert recorded.segments.all() == []
    recorded.screen.gone = False
    recorded.recorder.wake()
    await eventually(lambda: recorded.screen.taken)


async def test_a_film_is_whole_when_everything_ends(tmp_path: Path) -> None:
    made = Set(tmp_path)
    async with made.recorder:
        made.recorder.wake()
        await eventually(lambda: made.screen.taken)
        await eventually(lambda: any(os.path.getsize(film.path) for film in made.segments.all()))  # a picture is in it
    assert [film.over for film in made.segments.all()] == [True]
    assert made.colours() == ["red"]
    made.recorder.wake()
    assert not made.recorder.recording
