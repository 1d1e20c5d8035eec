"""The screen recorder: records the screen while somebody acts on it, a picture for each change and none where it is still."""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from PIL import Image, ImageDraw

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks, start_task
from sandbox_server.drivers.recorder.recording_segments import RecordingSegments

if TYPE_CHECKING:
    from sandbox_server.drivers.video.mp4_writer import Mp4Writer

PAUSE_SECONDS = 0.5
"""Between two pictures at least."""
AWAKE_SECONDS = 60.0
"""How long it records on after the last act."""
SEGMENT_SECONDS = 60.0
"""How long a segment gets."""
FPS = 10
"""The most pictures a second that a segment says it has; each says for itself when it is shown."""
CRF = 30
_COVER = (40, 44, 48)
_TICK = 0.04

log = logging.getLogger(__name__)


class ScreenChangeSource(Protocol):
    """Tells whether the screen has changed."""

    async def look(self) -> None: ...
    async def changed(self) -> None: ...


class ScreenshotSource(Protocol):
    """Takes pictures of the screen."""

    async def __call__(self) -> Image.Image: ...


class ScreenRecorder:
    """Records segments from a `wake` on until AWAKE_SECONDS after the last one; an asynchronous context manager.

    While `private` holds its pictures are a cover.
    """

    def __init__(
        self,
        picture: ScreenshotSource,
        changes: Callable[[], AbstractAsyncContextManager[ScreenChangeSource]],
        segments: RecordingSegments,
        private: Callable[[], bool],
    ) -> None:
        self._picture = picture
        self._changes = changes
        self._segments = segments
        self._private = private
        self._until = 0.0
        self._woken = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "recorder")
        self._tasks = Tasks()
        self._closing = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing = True
        await self._tasks.close()
        await self.in_thread(lambda: None)  # what it does to the end
        self._thread.shutdown(wait=False)

    @property
    def recording(self) -> bool:
        """Whether a segment is being written."""
        return self._running is not None and not self._running.done()

    def wake(self) -> None:
        """Somebody acts: record from now on."""
        self._until = asyncio.get_running_loop().time() + AWAKE_SECONDS
        self._woken.set()
        if not self._closing and not self.recording:
            self._running = self._tasks.start(self._record(), name="recorder")

    async def in_thread[T](self, work: Callable[[], T]) -> T:
        """Do something with the files where nothing else touches it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _left(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    async def _record(self) -> None:
        try:
            while self._left() > 0:  # again for who acts while the changes are let go
                async with self._changes() as changes:
                    while self._left() > 0:
                        await changes.look()
                        picture, covered = await self._seen()
                        await self._one(changes, picture, covered=covered)
        except Unavailable:
            log.debug("there is no screen to record")
        except OSError as error:
            log.warning("the screen cannot be recorded: %s", error)

    async def _one(self, changes: ScreenChangeSource, first: Image.Image, *, covered: bool) -> None:
        """Make one segment."""
        began = time.monotonic()  # the machine's clock, which the segment's name is of, may be set meanwhile
        writer, fd, path = await self.in_thread(lambda: self._begin(first, time.time()))
        try:
            await self._show(writer, first, 0.0)
            await self._follow(writer, changes, began, covered=covered)
        finally:
            seconds = time.monotonic() - began
            await asyncio.shield(self.in_thread(lambda: self._end(writer, fd, path, seconds)))

    async def _follow(self, writer: "Mp4Writer", changes: ScreenChangeSource, began: float, *, covered: bool) -> None:
        while (left := min(SEGMENT_SECONDS - (time.monotonic() - began), self._left())) > 0:
            await asyncio.sleep(min(PAUSE_SECONDS, left))
            with suppress(TimeoutError):
                async with asyncio.timeout(max(_TICK, left - PAUSE_SECONDS)):
                    await self._news(changes, covered=covered)
            await changes.look()
            picture, covered = await self._seen()
            await self._show(writer, picture, time.monotonic() - began)

    async def _news(self, changes: ScreenChangeSource, *, covered: bool) -> None:
        """Wait until the picture would be another."""
        if covered != self._private():
            return
        while covered:
            await asyncio.sleep(PAUSE_SECONDS)
            if not self._private():
                return
        await self._changed_or_private(changes)

    async def _changed_or_private(self, changes: ScreenChangeSource) -> None:
        """Wait until the screen changes or becomes private, which is an act: the picture of before must not stand on."""
        changed = start_task(changes.changed())
        try:
            while not changed.done() and not self._private():
                self._woken.clear()
                woken = start_task(self._woken.wait())
                await asyncio.wait([changed, woken], return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
            if changed.done():
                changed.result()
        finally:
            changed.cancel()

    async def _seen(self) -> tuple[Image.Image, bool]:
        """How the screen looks, or the cover, and whether it is that; what became private while it was looked at is not kept."""
        before = self._private()
        taken = await self._picture()
        covered = before or self._private()
        return (_cover(taken.size) if covered else taken), covered

    async def _show(self, writer: "Mp4Writer", picture: Image.Image, at: float) -> None:
        await self.in_thread(lambda: writer.show(picture, at))

    def _begin(self, first: Image.Image, at: float) -> "tuple[Mp4Writer, int, str]":
        from sandbox_server.drivers.video.mp4_writer import Mp4Writer  # heavy, and needed once somebody acts

        fd, path = self._segments.begin(at)
        width, height = first.size
        return Mp4Writer(fd, (max(2, width & ~1), max(2, height & ~1)), fps=FPS, crf=CRF, sound=False), fd, path

    def _end(self, writer: "Mp4Writer", fd: int, path: str, seconds: float) -> None:
        try:
            writer.close(seconds)
        finally:
            os.close(fd)
            self._segments.end(path, seconds)


def _cover(size: tuple[int, int]) -> Image.Image:
    """What is shown in place of what nobody else sees."""
    cover = Image.new("RGB", size, _COVER)
    ImageDraw.Draw(cover).text((size[0] // 2, size[1] // 2), "private", fill=(200, 200, 200), anchor="mm")
    return cover
