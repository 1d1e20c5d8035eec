"""The screencast of a page (domain Page), also while its tab is not the active one."""

import asyncio
import base64
import io
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from PIL import Image

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.drivers.devtools.connection import DevtoolsConnection, DevtoolsRefused, Object, connected
from sandbox_server.timeouts import scaled

FIRST_SECONDS = scaled(8.0)
"""Seconds within which a page that is painted gives its first frame."""
ASK_SECONDS = 1.0
"""Seconds without a frame after which the page is asked again."""


class Screencast:
    """The latest frame of one page."""

    def __init__(self, connection: DevtoolsConnection, session: str, quality: int, frames: "Frames") -> None:
        self._connection = connection
        self._session = session
        self._quality = quality
        self._frames = frames
        self._picture: Image.Image | None = None
        self._asked = 0.0

    async def picture(self) -> Image.Image:
        """Return the latest frame; the same object while it does not change.

        Raises Unavailable if there is no frame yet, Conflict once the page is closed.
        """
        if self._frames.closed or self._connection.ended.is_set():
            raise Conflict("the tab was closed, or the browser ended")
        self.ask()
        if self._picture is None:
            await self._wait_for_first_frame()
        if (frame := self._frames.take()) is not None:
            self._picture = await asyncio.to_thread(_decode_frame, frame)
        assert self._picture
        return self._picture

    def ask(self) -> None:
        """Request frames, and again after a while without any.

        The browser drops a frame while two earlier ones are unacknowledged. That may be the last frame of a page that
        stops changing.
        """
        now = time.monotonic()
        if now - max(self._asked, self._frames.latest) >= ASK_SECONDS:
            self._asked = now
            self._connection.post("Page.startScreencast", {"format": "jpeg", "quality": self._quality}, self._session)

    async def _wait_for_first_frame(self) -> None:
        try:
            async with asyncio.timeout(FIRST_SECONDS):
                while not self._frames.arrived.is_set():
                    self.ask()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(ASK_SECONDS):
                            await self._frames.arrived.wait()
        except TimeoutError:
            raise Unavailable("the tab is not painted: it is in the background, or its page crashed", retry_after=1.0) from None


class Frames:
    """Receives the frames of the connection."""

    def __init__(self) -> None:
        self.closed = False
        self.arrived = asyncio.Event()
        self.latest = 0.0
        """The time of the last frame (time.monotonic)."""
        self.connection: DevtoolsConnection | None = None
        self._frame: str | None = None

    def take(self) -> str | None:
        """Return the latest frame in Base64; None if it was taken already."""
        frame, self._frame = self._frame, None
        return frame

    def on_event(self, session: str | None, method: str, params: Object) -> None:
        """Take an event of the connection."""
        if method == "Page.screencastFrame" and self.connection:
            self._frame, self.latest = params["data"], time.monotonic()
            self.arrived.set()
            self.connection.post("Page.screencastFrameAck", {"sessionId": params["sessionId"]}, session)
        elif method == "Target.detachedFromTarget":
            self.closed = True


@asynccontextmanager
async def screencast(socket: str, page: str, quality: int) -> AsyncIterator[Screencast]:
    """Start a page's screencast at a JPEG quality from 0 to 100. It has its own connection, so several can run."""
    frames = Frames()
    async with connected(socket, frames.on_event) as connection:
        frames.connection = connection
        try:
            attached = await connection.command("Target.attachToTarget", {"targetId": page, "flatten": True})
        except DevtoolsRefused as error:
            raise Conflict(f"the tab cannot be recorded: {error}") from None
        cast = Screencast(connection, attached["sessionId"], quality, frames)
        cast.ask()
        yield cast


def _decode_frame(frame: str) -> Image.Image:
    picture = Image.open(io.BytesIO(base64.b64decode(frame)))
    picture.load()
    return picture.convert("RGB")
