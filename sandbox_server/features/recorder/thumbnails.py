"""Thumbnails of the screen that receipts refer to."""

import asyncio
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Blob, Model, NotFound, operation
from sandbox_server.drivers.recorder.thumbnails import Thumbnails


class PictureRef(Model):
    name: Annotated[str, Field(max_length=40)]
    """As the receipt names it."""


class RecordedPictures:
    """Gives them to whoever may see the screen."""

    tag = "recorder"

    def __init__(self, thumbnails: Thumbnails) -> None:
        self._thumbnails = thumbnails

    @operation("GET /v1/recorder/thumbnails/{name}", scope="view", media_type="image/jpeg")
    async def get_thumbnail(self, request: PictureRef) -> Blob:
        """Get the picture of the screen that a receipt names, as it was before a person drove, or after."""
        picture = await asyncio.to_thread(self._thumbnails.read, request.name)
        if picture is None:
            raise NotFound(f"there is no picture {request.name!r}", name=request.name)
        return Blob(picture, "image/jpeg", {"Cache-Control": "private, max-age=3600"})
