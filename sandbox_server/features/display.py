"""Recordings of the whole desktop."""

from types import TracebackType
from typing import Annotated, Literal, Protocol, Self

from PIL import Image
from pydantic import Field

from sandbox_server.core import Model, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.video.privacy_mask import Hidden, MaskedPictures, MaskedSounds
from sandbox_server.drivers.video.recording import Recording, RecordingOptions
from sandbox_server.drivers.video.recordings import Recordings
from sandbox_server.drivers.x11.screen import MAX_SIZE
from sandbox_server.drivers.x11.screenshot import Size

type Side = Annotated[int, Field(gt=0)]


class DisplayRecordRequest(Model):
    action: Literal["start", "stop", "status"]
    """Start, stop or look up a recording."""
    save_path: str | None = None
    """Path of the recording, which also identifies it. Null: a new file in /tmp/recordings, or the latest recording."""
    fps: Annotated[int, Field(gt=0, le=30)] = 5
    """Frames per second; one while nothing changes."""
    crf: Annotated[int, Field(ge=0, le=51)] = 28
    """H.264 quality (CRF): 0 is lossless, 51 the worst."""
    max_duration: Annotated[float, Field(gt=0)] = 600
    """Seconds after which the recording stops by itself."""
    width: Side | None = None
    """Width of the video in pixels, at most 3840, rounded down to an even number. Null: the screen's."""
    height: Side | None = None
    """Height of the video in pixels, at most 2160, rounded down to an even number. Null: the screen's."""
    sound: bool = True
    """Whether to record the desktop's sound, if it has any."""


class DisplayRecordResult(Model):
    status: Literal["idle", "recording", "stopped"]
    """`idle` if nothing was recorded yet."""
    save_path: str | None = None
    """Path of the recording. It can be played while it is being recorded."""
    duration: float = 0
    """Duration in seconds."""
    file_size_bytes: int | None = None
    error: str | None = None
    """Why it ended early."""
    recordings: list[str] = Field(default_factory=list)
    """Paths of all running recordings."""


class Screenshots(Protocol):
    """Takes screenshots; `drivers.x11.screen.X11Screen` implements it."""

    async def grab(self) -> tuple[Image.Image, Size]: ...


class Display:
    """Records the desktop."""

    tag = "display"

    def __init__(self, screen: Screenshots, sound: PulseAudio, files: Files, hidden: Hidden = lambda: False) -> None:
        self._hidden = hidden
        self._screen = screen
        self._sound = sound
        self._recordings = Recordings(files, "recording")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._recordings.__aexit__(kind, error, trace)

    @property
    def recording(self) -> bool:
        """Whether the screen is being recorded."""
        return bool(self._recordings.running)

    @operation("POST /v1/display/record", scope="browser", shows=False)
    async def record(self, request: DisplayRecordRequest) -> DisplayRecordResult:
        """Record the whole desktop with its sound as a video.

        The file is MP4 with H.264 and AAC. It stays playable up to its last second if the recording is interrupted.
        Several recordings may run at once, into different files; `stop` and `status` without `save_path` mean the
        latest. In private mode they show a placeholder.
        """
        if request.action == "start":
            return self._result(await self._start(request))
        recording = self._recordings.find(request.save_path)
        if recording and request.action == "stop":
            await recording.stop()
        return self._result(recording)

    async def _start(self, request: DisplayRecordRequest) -> Recording:
        _require_size(request)
        options = RecordingOptions(request.fps, request.crf, request.max_duration, (request.width, request.height))
        sounds = MaskedSounds(self._sound, self._hidden) if request.sound and self._sound.available else None
        pictures = MaskedPictures(_Desktop(self._screen), self._hidden)
        return await self._recordings.start(request.save_path, options, pictures, sounds)

    def _result(self, recording: Recording | None) -> DisplayRecordResult:
        running = [each.path for each in self._recordings.running]
        if recording is None:
            return DisplayRecordResult(status="idle", recordings=running)
        return DisplayRecordResult(
            status="stopped" if recording.state == "stopped" else "recording",
            save_path=recording.path,
            duration=round(recording.duration, 3),
            file_size_bytes=recording.size_bytes,
            error=recording.failure,
            recordings=running,
        )


def _require_size(request: DisplayRecordRequest) -> None:
    sides = (("width", request.width, MAX_SIZE[0]), ("height", request.height, MAX_SIZE[1]))
    problems = [
        {"loc": (name,), "msg": f"a recording may have at most {limit} pixels", "type": "less_than_equal"}
        for name, side, limit in sides
        if side is not None and side > limit
    ]
    if problems:
        raise InvalidFields(problems)


class _Desktop:
    """The screen with the pointer, as a source of frames."""

    def __init__(self, screen: Screenshots) -> None:
        self._screen = screen

    async def picture(self) -> Image.Image:
        return (await self._screen.grab())[0]
