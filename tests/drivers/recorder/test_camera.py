"""The camera."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import pytest
from PIL import Image

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.recorder import camera as module
from sandbox_server.drivers.recorder.camera import Camera
from sandbox_server.drivers.recorder.reel import Reel
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
RED, GREEN = (200, 0, 0), (0, 200, 0)


class Screen:
    """A screen of one colour."""

    def __init__(self) -> None:
        self.colour = RED
        self.taken = self.opened = 0
        self.gone = self.private = False
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.opened += 1
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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
        self.screen, self.reel = Screen(), Reel(str(folder), 1 << 24, 1e12)
        self.camera = Camera(self.screen.picture, lambda: self.screen, self.reel, lambda: self.screen.private)

    async def over(self) -> None:
        await eventually(lambda: not self.camera.filming, within=30)

    def colours(self) -> list[str]:
        """Which colour is the strongest in each picture of the first film, each once."""
        found = list[str]()
        with av.open(self.reel.films()[0].path) as film:
            for frame in film.decode(video=0):
                red, green, _ = frame.to_image().getpixel((5, 5))  # type: ignore[no-untyped-call] # the package leaves it out
                seen = "cover" if abs(red - green) < 40 else "red" if red > green else "green"
                found += [seen] if found[-1:] != [seen] else []
        return found


@pytest.fixture
async def filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Set]:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(module, "AWAKE_SECONDS", 2.0)
    made = Set(tmp_path)
    async with made.camera:
        yield made


async def test_nothing_is_filmed_while_nobody_acts(filmed: Set) -> None:
    assert (filmed.camera.filming, filmed.screen.taken, filmed.screen.opened, filmed.reel.films()) == (False, 0, 0, [])


async def test_a_film_has_each_change_and_ends_a_while_after_the_last_act(filmed: Set) -> None:
    filmed.camera.wake()
    await eventually(lambda: filmed.screen.taken)
    filmed.camera.wake()
    filmed.screen.become(GREEN)
    await filmed.over()

    [film] = filmed.reel.films()
    assert film.over
    assert filmed.colours() == ["red", "green"]
    assert filmed.screen.opened == 0
    filmed.camera.wake()
    assert filmed.camera.filming


async def test_what_is_private_is_covered(filmed: Set) -> None:
    filmed.screen.private = True
    filmed.camera.wake()
    await eventually(lambda: filmed.screen.taken)
    before = filmed.screen.taken
    filmed.screen.become(GREEN)
    filmed.screen.private = False
    await eventually(lambda: filmed.screen.taken > before)
    filmed.screen.private = True
    filmed.screen.become(RED)
    await filmed.over()
    assert "red" not in filmed.colours()


async def test_a_film_is_as_long_as_it_may_be_and_the_next_follows(filmed: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILM_SECONDS", 0.2)
    filmed.camera.wake()
    await filmed.over()
    assert len(filmed.reel.films()) > 1


async def test_without_a_screen_nothing_is_filmed_until_the_next_act(filmed: Set) -> None:
    filmed.screen.gone = True
    filmed.camera.wake()
    await filmed.over()
    assert filmed.reel.films() == []
    filmed.screen.gone = False
    filmed.camera.wake()
    await eventually(lambda: filmed.screen.taken)


async def test_a_film_is_whole_when_everything_ends(tmp_path: Path) -> None:
    made = Set(tmp_path)
    async with made.camera:
        made.camera.wake()
        await eventually(lambda: made.screen.taken)
        await eventually(lambda: any(os.path.getsize(film.path) for film in made.reel.films()))  # a picture is in it
    assert [film.over for film in made.reel.films()] == [True]
    assert made.colours() == ["red"]
    made.camera.wake()
    assert not made.camera.filming
