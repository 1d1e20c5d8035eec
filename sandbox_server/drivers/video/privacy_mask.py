"""Privacy mask: while a person is private, a placeholder instead of pictures, and silence."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.video.recording import PictureSource, SoundSource

type Hidden = Callable[[], bool]
"""Whether nothing may be shown now."""

TEXT = "Private: a person does something that is not shown"
_GROUND, _INK = (38, 42, 48), (235, 238, 242)


@lru_cache(maxsize=4)
def placeholder(size: tuple[int, int]) -> Image.Image:
    """The picture of so many pixels that is shown instead; the same object for the same size."""
    picture = Image.new("RGB", size, _GROUND)
    place, font = (size[0] / 2, size[1] / 2), ImageFont.load_default(max(10, size[0] // 40))
    ImageDraw.Draw(picture).text(place, TEXT, _INK, font, anchor="mm")
    return picture


class MaskedPictures:
    """Pictures of something."""

    def __init__(self, pictures: PictureSource, hidden: Hidden) -> None:
        self._pictures = pictures
        self._hidden = hidden
        self._size = (1280, 1024)

    async def picture(self) -> Image.Image:
        """How it looks, or the placeholder. Raises Unavailable while it cannot be seen."""
        if self._hidden():
            return placeholder(self._size)
        try:
            found = await self._pictures.picture()
        except Unavailable:
            if self._hidden():
                return placeholder(self._size)
            raise
        self._size = found.size
        return placeholder(self._size) if self._hidden() else found


class MaskedSounds:
    """Sounds of something."""

    def __init__(self, sounds: SoundSource, hidden: Hidden) -> None:
        self._sounds = sounds
        self._hidden = hidden

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Samples without end, none of them while nothing may be heard."""
        return self._listen()

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self._sounds.listen() as heard:
            yield self._audible(heard)

    async def _audible(self, heard: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for samples in heard:
            if not self._hidden():
                yield samples
