"""The display: films of the whole desktop."""

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
    """What to do: begin a film, end one, or ask about one."""
    save_path: str | None = None
    """Where the film goes, and by which it is named afterwards. Null: a new file in /tmp/recordings, or the latest film."""
    fps: Annotated[int, Field(gt=0, le=30)] = 5
    """Pictures per second; where nothing changes, one."""
    crf: Annotated[int, Field(ge=0, le=51)] = 28
    """Quality of H.264: 0 is lossless, 51 the worst."""
    max_duration: Annotated[float, Field(gt=0)] = 600
    """Seconds after which the film ends by itself."""
    width: Side | None = None
    """Width of the film in pixels, 3840 at most, rounded down to an even number. Null: that of the screen."""
    height: Side | None = None
    """Height of the film in pixels, 2160 at most, rounded down to an even number. Null: that of the screen."""
    sound: bool = True
    """Whether to record what the desktop plays, too, where it has sound."""


class DisplayRecordResult(Model):
    status: Literal["idle", "recording", "stopped"]
    """`idle` where nothing was recorded yet."""
    save_path: str | None = None
    """The film's file. It can be watched while it is recorded."""
    duration: float = 0
    """Seconds of film."""
    file_size_bytes: int | None = None
    error: str | None = None
    """Why it ended before it was to."""
    recordings: list[str] = Field(default_factory=list)
    """Every film that is being recorded, by its path."""


class Screenshots(Protocol):
    """What pictures are taken of; `drivers.x11.screen.X11Screen` is one."""

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
        """Record the whole desktop as a film, with its sound.

        The file is MP4 with H.264 and AAC, and plays up to its last second whatever happens to the recording. Several may be recorded at
        once, into different files; `stop` and `status` without `save_path` mean the latest. While a person is private
        they show a placeholder.
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
        {"loc": (name,), "msg": f"a film has {limit} pixels at most", "type": "less_than_equal"}
        for name, side, limit in sides
        if side is not None and side > limit
    ]
    if problems:
        raise InvalidFields(problems)


class _Desktop:
    """The screen with the pointer, as pictures."""

    def __init__(self, screen: Screenshots) -> None:
        self._screen = screen

    async def picture(self) -> Image.Image:
        return (await self._screen.grab())[0]
