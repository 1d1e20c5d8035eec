"""Privacy mask: in private mode, frames are replaced by a placeholder and sound by silence."""

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
    """Return the placeholder image; the same object for the same size."""
    picture = Image.new("RGB", size, _GROUND)
    place, font = (size[0] / 2, size[1] / 2), ImageFont.load_default(max(10, size[0] // 40))
    ImageDraw.Draw(picture).text(place, TEXT, _INK, font, anchor="mm")
    return picture


class MaskedPictures:
    """A source of frames behind the mask."""

    def __init__(self, pictures: PictureSource, hidden: Hidden) -> None:
        self._pictures = pictures
        self._hidden = hidden
        self._size = (1280, 1024)

    async def picture(self) -> Image.Image:
        """Return the frame, or the placeholder. Raises Unavailable while there is no frame."""
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
    """A source of sound behind the mask."""

    def __init__(self, sounds: SoundSource, hidden: Hidden) -> None:
        self._sounds = sounds
        self._hidden = hidden

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Yield samples without end; silence while nothing may be heard."""
        return self._listen()

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self._sounds.listen() as heard:
            yield self._audible(heard)

    async def _audible(self, heard: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for samples in heard:
            if not self._hidden():
                yield samples
