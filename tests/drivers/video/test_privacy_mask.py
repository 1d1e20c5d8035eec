"""What is shown and heard while a person is private."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.video.privacy_mask import MaskedPictures, MaskedSounds, placeholder
from tests.drivers.video.mp4 import BLUE, plain

pytestmark = pytest.mark.anyio


class Switch:
    """Whether it is hidden, and what there is to see and hear; `during` happens while it looks."""

    def __init__(self) -> None:
        self.hidden = False
        self.there = True
        self.turns = False

    def __call__(self) -> bool:
        return self.hidden

    async def picture(self) -> Image.Image:
        if self.turns:
            self.hidden = True
        if not self.there:
            raise Unavailable("there is nothing to see")
        return plain(BLUE)

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        async def samples() -> AsyncIterator[bytes]:
            for sample in (b"one", b"two", b"three"):
                self.hidden = sample == b"two"
                yield sample

        yield samples()


async def test_in_private_there_is_a_placeholder_of_the_same_size() -> None:
    switch = Switch()
    pictures = MaskedPictures(switch, switch)
    assert (await pictures.picture()).getpixel((1, 1)) == BLUE
    switch.hidden = True
    shown = await pictures.picture()
    assert (shown.size, shown.getpixel((1, 1))) == ((64, 48), (38, 42, 48))
    assert await pictures.picture() is shown, "nothing has changed"


async def test_a_picture_that_was_taken_when_it_began_is_not_shown() -> None:
    switch = Switch()
    switch.turns = True
    assert (await MaskedPictures(switch, switch).picture()).getpixel((1, 1)) != BLUE


async def test_what_cannot_be_seen_is_a_placeholder_only_in_private() -> None:
    switch = Switch()
    switch.there = False
    with pytest.raises(Unavailable):
        await MaskedPictures(switch, switch).picture()
    switch.turns = True
    assert await MaskedPictures(switch, switch).picture() is placeholder((1280, 1024))


async def test_in_private_there_is_silence() -> None:
    switch = Switch()
    async with MaskedSounds(switch, switch).listen() as heard:
        assert [sample async for sample in heard] == [b"one", b"three"]
