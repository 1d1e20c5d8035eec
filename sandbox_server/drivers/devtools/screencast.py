"""Pictures of a page as it is painted (domain Page, screencast), whether or not its tab is what the desktop shows."""

import asyncio
import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from PIL import Image

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.drivers.devtools.connection import Connection, Object, Refused, connected

FIRST_SECONDS = 8.0
"""Within which a page that is painted at all gives its first picture."""


class Screencast:
    """The latest picture of one page."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self._frame: str | None = None
        self._picture: Image.Image | None = None
        self._painted = asyncio.Event()
        self._closed = False

    async def picture(self) -> Image.Image:
        """How the page looks; the same object while it does not change.

        Raises Unavailable while there is no picture, Conflict once the page is closed.
        """
        if self._closed or (self.connection and self.connection.ended.is_set()):
            raise Conflict("the tab was closed, or the browser ended")
        if self._picture is None and self._frame is None:
            await self._first()
        if (frame := self._frame) is not None:
            self._frame, self._picture = None, await asyncio.to_thread(_decoded, frame)
        assert self._picture
        return self._picture

    async def _first(self) -> None:
        try:
            async with asyncio.timeout(FIRST_SECONDS):
                await self._painted.wait()
        except TimeoutError:
            raise Unavailable("the tab is not painted: it is behind another, or its page crashed", retry_after=1.0) from None

    def on_event(self, session: str | None, method: str, params: Object) -> None:
        """Take an event of the connection."""
        if method == "Page.screencastFrame" and self.connection:
            self._frame = params["data"]
            self._painted.set()
            self.connection.post("Page.screencastFrameAck", {"sessionId": params["sessionId"]}, session)
        elif method == "Target.detachedFromTarget":
            self._closed = True


@asynccontextmanager
async def screencast(socket: str, page: str, quality: int) -> AsyncIterator[Screencast]:
    """Have a page painted for us, at a JPEG quality from 0 to 100; on a connection of its own, so that several may do so."""
    cast = Screencast()
    async with connected(socket, cast.on_event) as connection:
        cast.connection = connection
        try:
            attached = await connection.command("Target.attachToTarget", {"targetId": page, "flatten": True})
            connection.post("Page.startScreencast", {"format": "jpeg", "quality": quality}, attached["sessionId"])
        except Refused as error:
            raise Conflict(f"the tab cannot be recorded: {error}") from None
        yield cast


def _decoded(frame: str) -> Image.Image:
    picture = Image.open(io.BytesIO(base64.b64decode(frame)))
    picture.load()
    return picture.convert("RGB")
