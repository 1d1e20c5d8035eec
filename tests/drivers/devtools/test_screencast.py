"""Pictures of a real page, as it changes."""

import asyncio
from typing import Any

import pytest
from PIL import Image

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.devtools.screencast import Screencast, screencast
from tests.drivers.devtools.conftest import Tab
from tests.patience import eventually

pytestmark = pytest.mark.anyio

PAINT = "document.documentElement.style.background = '{}'"


def middle(picture: Image.Image) -> tuple[int, ...]:
    found = picture.getpixel((picture.width // 2, picture.height // 2))
    assert isinstance(found, tuple)
    return found


async def painted(cast: Screencast, channel: int) -> Image.Image:
    """The first picture in whose middle one colour is strong and the others are not."""

    def is_painted(picture: Image.Image) -> bool:
        values = middle(picture)
        return values[channel] > 200 and sum(values) - values[channel] < 100

    return await eventually(cast.picture, is_painted)


async def test_the_latest_picture_shows_the_page(shared: Any, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    async with screencast(shared.socket, tab.id, 80) as cast:
        for channel, colour in enumerate(("red", "lime", "blue")):
            await asyncio.to_thread(tab.run, PAINT.format(colour))
            assert (await painted(cast, channel)).mode == "RGB"


async def test_two_may_watch_one_page(shared: Any, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    async with screencast(shared.socket, tab.id, 80) as first, screencast(shared.socket, tab.id, 30) as second:
        await asyncio.to_thread(tab.run, PAINT.format("red"))
        await painted(first, 0)
        await painted(second, 0)


async def test_a_closed_page_has_no_pictures(shared: Any, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    async with screencast(shared.socket, tab.id, 80) as cast:
        await cast.picture()
        await asyncio.to_thread(tab.command, "Page.close")
        with pytest.raises(Conflict, match="closed"):
            async with asyncio.timeout(30):
                await without_end(cast)


async def without_end(cast: Screencast) -> None:
    while True:
        await cast.picture()
        await asyncio.sleep(0.02)


async def test_a_page_that_is_not_there_cannot_be_recorded(shared: Any) -> None:
    with pytest.raises(Conflict, match="cannot be recorded"):
        async with screencast(shared.socket, "nowhere", 80):
            pass
