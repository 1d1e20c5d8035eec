"""The recordings of one kind: the running ones, and the last that ended."""

import asyncio
import os
import time
from collections import deque
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import Conflict, Failure, NotFound, ResourceExhausted
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.video.recording import PictureSource, Recording, RecordingOptions, SoundSource

FOLDER = "/tmp/recordings"
"""Default folder of recordings, in the agent's tree."""
MAX_RECORDINGS = 4
MAX_ENDED = 16
"""Limit of ended recordings that can still be looked up."""


class Recordings:
    """Recordings in the agent's files, identified by path. Leaving the context ends them all, with complete files."""

    def __init__(self, files: Files, prefix: str) -> None:
        self._files = files
        self._prefix = prefix
        self._running: list[Recording] = []
        self._ended: deque[Recording] = deque(maxlen=MAX_ENDED)
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for recording in list(self._running):
            await recording.stop()
        await self._tasks.close()

    @property
    def running(self) -> tuple[Recording, ...]:
        """The running recordings, latest last."""
        return tuple(self._running)

    async def start(
        self, path: str | None, options: RecordingOptions, pictures: PictureSource, sounds: SoundSource | None = None
    ) -> Recording:
        """Start a recording and return after its first frame. An existing file is replaced, missing directories are made.

        Raises Conflict if a recording runs at the path, ResourceExhausted while `MAX_RECORDINGS` run, Unavailable if there
        is no frame, and FileError.
        """
        access = self._files.access("record")
        place = self._place(path or self._new_path())
        self._require_room(place)
        await pictures.picture()  # before there is a file
        fd = await access.begin(place)  # named at once: a recording can be played whatever happens
        try:
            self._require_room(place)
        except Failure:
            os.close(fd)
            raise
        recording = Recording(place, fd, options, pictures, sounds)
        self._running.append(recording)
        self._tasks.start(self._run(recording), name="recording")
        try:
            await recording.started.wait()
        except asyncio.CancelledError:
            await recording.stop()
            raise
        if recording.failure and not recording.frames:
            raise Conflict(f"nothing can be recorded: {recording.failure}")
        return recording

    def find(self, path: str | None) -> Recording | None:
        """Return the recording at a path; without a path the latest running, or the last that ended, or None.

        Raises NotFound for an unknown path.
        """
        known = [*self._ended, *self._running]
        if path is not None:
            place = self._place(path)
            known = [recording for recording in known if recording.path == place]
            if not known:
                raise NotFound(f"nothing was recorded into {path!r}", path=path)
        return known[-1] if known else None

    async def _run(self, recording: Recording) -> None:
        try:
            await recording.run()
        finally:
            self._running.remove(recording)
            self._ended.append(recording)

    def _place(self, path: str) -> str:
        return os.path.normpath(self._files.access("record").absolute(path))

    def _require_room(self, place: str) -> None:
        if any(recording.path == place for recording in self._running):
            raise Conflict(f"a recording into {place!r} is running", path=place)
        if len(self._running) >= MAX_RECORDINGS:
            raise ResourceExhausted(f"{MAX_RECORDINGS} recordings run already", limit=MAX_RECORDINGS)

    def _new_path(self) -> str:
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime())
        taken = {recording.path for recording in self._running}
        names = (
            f"{FOLDER}/{self._prefix}_{stamp}{suffix}.mp4" for suffix in ("", *(f"_{number}" for number in range(2, MAX_RECORDINGS + 2)))
        )
        return next(name for name in names if name not in taken)
