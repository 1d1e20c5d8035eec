"""A recording: frames at a fixed rate are written into a file, until it is stopped or its time is over."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from PIL import Image

from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.timeouts import scaled

if TYPE_CHECKING:
    from sandbox_server.drivers.video.mp4_writer import Mp4Writer

type State = Literal["recording", "paused", "stopped"]

START_SECONDS = scaled(10.0)
"""Seconds for the first frame."""

log = logging.getLogger(__name__)


class PictureSource(Protocol):
    """A source of frames."""

    async def picture(self) -> Image.Image:
        """Return the current frame; the same object if nothing changed. Raises Unavailable while there is none."""


class SoundSource(Protocol):
    """A source of sound."""

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Yield samples for `Mp4Writer.play`, without end."""


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """The options of a recording."""

    fps: int
    crf: int
    seconds: float
    """Limit of its duration."""
    size: tuple[int | None, int | None] = (None, None)
    """Width and height in pixels; None is that of the first frame."""


class Recording:
    """One file and its recording. `run` makes it; the other methods may be called during and after it."""

    def __init__(self, path: str, fd: int, options: RecordingOptions, pictures: PictureSource, sounds: SoundSource | None) -> None:
        self.path = path
        self.options = options
        self.failure: str | None = None
        """Why it ended early."""
        self.state: State = "recording"
        self.frames = 0
        self._fd = fd
        self._pictures = pictures
        self._sounds = sounds
        self._thread = ThreadPoolExecutor(1, "recording")
        self._writer: Mp4Writer | None = None
        self._clock = _Clock()
        self._ending = asyncio.Event()
        self._ended = asyncio.Event()
        self.started = asyncio.Event()
        """Set once there is a first frame, or the recording has failed."""
        self.size_bytes = 0

    @property
    def duration(self) -> float:
        """Seconds recorded so far."""
        return min(self._clock.seconds, self.options.seconds)

    def pause(self) -> None:
        """Pause the recording. The pause is not in the video."""
        if self.state == "recording":
            self.state = "paused"
            self._clock.stop()

    def resume(self) -> None:
        """Resume after a pause."""
        if self.state == "paused":
            self.state = "recording"
            self._clock.start()

    async def stop(self) -> None:
        """Stop the recording and wait until its file is complete."""
        self._ending.set()
        await self._ended.wait()

    async def ended(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    async def run(self) -> None:
        """Make the recording. Errors are stored in `failure`, not raised."""
        try:
            await self._make()
        except Failure as failure:
            self.failure = failure.message
        except TimeoutError:
            self.failure = f"there was no picture within {START_SECONDS:g} s"
        except OSError as error:
            self.failure = f"the file could not be written: {error.strerror or error}"
        except Exception:
            log.exception("a recording failed")
            self.failure = "the recording could not be made"
        finally:
            self._clock.stop()
            self.size_bytes = os.fstat(self._fd).st_size
            self._thread.submit(os.close, self._fd)  # after everything that writes to it
            self._thread.shutdown(wait=False)
            self.state = "stopped"
            self.started.set()
            self._ended.set()

    async def _make(self) -> None:
        async with asyncio.timeout(START_SECONDS):
            first = await self._pictures.picture()
        try:
            writer = await self._in_thread(lambda: self._begin(first))
            self._clock.start()
            async with Tasks() as tasks:
                if self._sounds:
                    tasks.start(self._listen(writer, self._sounds), name="sound of a recording")
                await self._watch(writer, first)
        finally:
            await self._in_thread(self._close)

    def _begin(self, first: Image.Image) -> "Mp4Writer":
        from sandbox_server.drivers.video.mp4_writer import Mp4Writer  # a slow import, which only recordings need

        width, height = (wanted or own for wanted, own in zip(self.options.size, first.size, strict=True))
        size = (max(2, width & ~1), max(2, height & ~1))
        self._writer = Mp4Writer(self._fd, size, fps=self.options.fps, crf=self.options.crf, sound=self._sounds is not None)
        return self._writer

    def _close(self) -> None:
        """Close the file, on the thread, after all other work."""
        if self._writer:
            self._writer.close(self.duration)
            self.frames = self._writer.pictures

    async def _watch(self, writer: "Mp4Writer", picture: Image.Image) -> None:
        await self._show(writer, picture)
        self.started.set()
        pause, due = 1 / self.options.fps, time.monotonic()
        while not self._ending.is_set() and self._clock.seconds < self.options.seconds:
            due = max(due + pause, time.monotonic())
            await _until(self._ending, due - time.monotonic())
            if self.state == "recording":
                picture = await self._look(picture)
                await self._show(writer, picture)

    async def _look(self, last: Image.Image) -> Image.Image:
        try:
            return await self._pictures.picture()
        except Unavailable:  # repeat the last frame until there is a new one
            return last

    async def _show(self, writer: "Mp4Writer", picture: Image.Image) -> None:
        at = self.duration
        await self._in_thread(lambda: writer.show(picture, at))
        self.frames, self.size_bytes = writer.pictures, os.fstat(self._fd).st_size

    async def _listen(self, writer: "Mp4Writer", sounds: SoundSource) -> None:
        try:
            async with sounds.listen() as heard:
                async for samples in heard:
                    await self._play(writer, samples)
        except Unavailable:  # the recording goes on in silence
            return

    async def _play(self, writer: "Mp4Writer", samples: bytes) -> None:
        from sandbox_server.drivers.video.mp4_writer import SOUND_RATE, SOUND_SAMPLE

        if self.state == "recording":
            began = self.duration - len(samples) / (SOUND_RATE * SOUND_SAMPLE)
            await self._in_thread(lambda: writer.play(samples, began))

    async def _in_thread[T](self, work: Callable[[], T]) -> T:
        return await in_thread(work, executor=self._thread)


class _Clock:
    """Counts seconds while it runs."""

    def __init__(self) -> None:
        self._before = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        return self._before + (time.monotonic() - self._since if self._since is not None else 0.0)

    def start(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        self._before, self._since = self.seconds, None


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        return
