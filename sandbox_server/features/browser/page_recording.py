"""Recordings of one page, without the browser's bars."""

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from sandbox_server.core import Model, Tasks, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.devtools.screencast import screencast
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.video.privacy_mask import Hidden, MaskedPictures
from sandbox_server.drivers.video.recording import Recording, RecordingOptions
from sandbox_server.drivers.video.recordings import Recordings

MAX_FPS = 60
MAX_SECONDS = 3600.0
"""Limit in seconds of a recording."""
BEST_CRF, WORST_CRF = 18, 43
"""The H.264 CRF for quality 100 and 0."""


class PageRecordRequest(Model):
    action: Literal["once", "start", "pause", "resume", "stop", "status"] = "once"
    """`once` records for `duration` and answers at the end; the others start, pause, resume, stop or look up a recording."""
    save_path: str | None = None
    """Path of the recording, which also identifies it. Null: a new file in /tmp/recordings, or the latest recording."""
    duration: Annotated[float, Field(gt=0)] = 10
    """Seconds, at most 3600; for `once`."""
    fps: Annotated[int, Field(gt=0)] = 15
    """Frames per second, at most 60; one while nothing changes."""
    quality: Annotated[int, Field(ge=0, le=100)] = 80


class PageRecordings:
    """Records pages."""

    tag = "browser-page"

    def __init__(self, owner: BrowserClient, files: Files, hidden: Hidden = lambda: False) -> None:
        self._hidden = hidden
        self._owner = owner
        self._recordings = Recordings(files, "page")
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._recordings.__aexit__(kind, error, trace)
        await self._tasks.close()

    @property
    def recording(self) -> bool:
        """Whether a page is being recorded."""
        return bool(self._recordings.running)

    @operation("POST /v1/browser/page/record", scope="browser", operation_id="record", shows=False)
    async def record(self, request: PageRecordRequest) -> dict[str, Any]:
        """Record the page of the tab in front as a video.

        The file is MP4 with H.264. It stays playable up to its last second if the recording is interrupted. Several
        recordings may run at once, into different files. The answer has status (idle, recording, paused, stopped),
        save_path, duration, frames, file_size_bytes, error and recordings, the paths of all running ones. In private
        mode the video shows a placeholder.
        """
        if request.action in ("once", "start"):
            recording: Recording | None = await self._start(request)
            if recording and request.action == "once":
                await _ended(recording)
        else:
            recording = self._recordings.find(request.save_path)
            await _act(recording, request.action)
        return self._result(recording)

    async def _start(self, request: PageRecordRequest) -> Recording:
        _require_bounds(request)
        seconds = request.duration if request.action == "once" else MAX_SECONDS
        crf = round(WORST_CRF - (WORST_CRF - BEST_CRF) * request.quality / 100)
        tabs = await self._owner.tabs()
        page = next((tab for tab in tabs if tab.active), tabs[0]).page
        async with AsyncExitStack() as stack:
            cast = await stack.enter_async_context(screencast(self._owner.socket, page, request.quality))
            recording = await self._recordings.start(
                request.save_path, RecordingOptions(request.fps, crf, seconds), MaskedPictures(cast, self._hidden)
            )
            self._tasks.start(_release(recording, stack.pop_all()), name="screencast")
        return recording

    def _result(self, recording: Recording | None) -> dict[str, Any]:
        running = [each.path for each in self._recordings.running]
        if recording is None:
            return {"status": "idle", "save_path": None, "duration": 0.0, "frames": 0, "file_size_bytes": None, "recordings": running}
        return {
            "status": recording.state,
            "save_path": recording.path,
            "duration": round(recording.duration, 3),
            "frames": recording.frames,
            "file_size_bytes": recording.size_bytes,
            "error": recording.failure,
            "recordings": running,
        }


def _require_bounds(request: PageRecordRequest) -> None:
    bounds = (("fps", request.fps, MAX_FPS), ("duration", request.duration, MAX_SECONDS))
    problems = [
        {"loc": (name,), "msg": f"may be {limit:g} at most", "type": "less_than_equal"} for name, given, limit in bounds if given > limit
    ]
    if problems:
        raise InvalidFields(problems)


async def _ended(recording: Recording) -> None:
    """Wait for the end. If the caller disconnects, the recording stops, and its file is complete."""
    try:
        await recording.ended()
    except asyncio.CancelledError:
        await recording.stop()
        raise


async def _act(recording: Recording | None, action: str) -> None:
    if recording is None:
        return
    match action:
        case "pause":
            recording.pause()
        case "resume":
            recording.resume()
        case "stop":
            await recording.stop()


async def _release(recording: Recording, opened: AsyncExitStack) -> None:
    async with opened:
        await recording.ended()
