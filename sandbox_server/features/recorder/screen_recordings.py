"""Screen recordings of when somebody acted, and what is pinned of them."""

import os
import secrets
import time
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Call, Content, Model, NotFound, ResourceExhausted, operation
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.recording_segments import Pin, RecordingSegment, RecordingSegments
from sandbox_server.drivers.recorder.screen_recorder import ScreenRecorder
from sandbox_server.features.recorder.file_body import FileBody
from sandbox_server.features.recorder.recorder_guard import actor_of

PINNED_SECONDS = 600.0
MAX_PINS = 100


class ScreenRecording(Model):
    name: str
    """GET /v1/recorder/video/{name} is the recording: MP4 with H.264."""
    start: float
    """When it begins, in seconds since the epoch; a second of it is a second."""
    end: float
    """When it ends."""
    bytes: int
    over: bool
    """Whether it is not still being made."""
    pinned: bool


class RecordingPin(Model):
    id: str
    since: float
    until: float
    by: str
    note: str


class ScreenRecordings(Model):
    films: list[ScreenRecording]
    """The oldest first. There is none of when nobody acted."""
    pins: list[RecordingPin]
    filming: bool
    """Whether somebody acts now, and is recorded."""


class PinRecordings(Model):
    since: float | None = None
    """From when on, in seconds since the epoch. Null: ten minutes before `until`."""
    until: float | None = None
    """Until when. Null: now."""
    note: Annotated[str, Field(max_length=400)] = ""


class PinRef(Model):
    id: Annotated[str, Field(max_length=40)]


class ScreenRecordingRef(Model):
    name: Annotated[str, Field(max_length=20, pattern="^[0-9]+$")]


class RecordedScreen:
    """Lists, gives and pins screen recordings."""

    tag = "recorder"

    def __init__(self, segments: RecordingSegments, recorder: ScreenRecorder, journal: Journal) -> None:
        self._segments = segments
        self._recorder = recorder
        self._journal = journal

    @operation("GET /v1/recorder/video", scope="admin")
    async def list_films(self) -> ScreenRecordings:
        """List the screen recordings that are kept, and what is pinned."""
        segments, pins = await self._recorder.in_thread(lambda: (self._segments.all(), self._segments.pins()))
        return ScreenRecordings(
            films=[_recording(segment) for segment in segments], pins=[_pin(pin) for pin in pins], filming=self._recorder.recording
        )

    @operation("GET /v1/recorder/video/{name}", scope="admin", media_type="video/mp4")
    async def get_film(self, request: ScreenRecordingRef) -> Content:
        """Get a screen recording; one that is being made as far as it is."""
        segments = await self._recorder.in_thread(self._segments.all)
        segment = next((segment for segment in segments if segment.name == request.name), None)
        if segment is None:
            raise NotFound(f"there is no recording {request.name!r}", name=request.name)
        return _content(segment)

    @operation("POST /v1/recorder/pin", scope="admin")
    async def pin_films(self, request: PinRecordings, call: Call) -> RecordingPin:
        """Keep what was recorded, whatever room it takes; up to half of the room for all recordings can be pinned."""
        until = request.until or time.time()
        since = request.since if request.since is not None else until - PINNED_SECONDS
        pin = Pin(secrets.token_hex(6), since, until, call.caller.name, request.note)
        await self._recorder.in_thread(lambda: self._keep(pin))
        self._journal.record("video", actor_of(call.caller), call.caller.name, event="pinned", since=since, until=until)
        return _pin(pin)

    @operation("DELETE /v1/recorder/pin/{id}", scope="admin")
    async def unpin_films(self, request: PinRef, call: Call) -> None:
        """Let what was pinned go when its time has come."""
        if not await self._recorder.in_thread(lambda: self._drop(request.id)):
            raise NotFound(f"nothing is pinned as {request.id!r}", id=request.id)
        self._journal.record("video", actor_of(call.caller), call.caller.name, event="unpinned")

    def _keep(self, pin: Pin) -> None:
        pins = [*self._segments.pins(), pin]
        taken = sum(segment.bytes for segment in self._segments.all() if any(each.holds(segment) for each in pins))
        if taken > self._segments.pin_bytes or len(pins) > MAX_PINS:
            raise ResourceExhausted(f"{taken} bytes would be pinned: {self._segments.pin_bytes} may be, in {MAX_PINS} pins")
        self._segments.keep(pins)

    def _drop(self, name: str) -> bool:
        pins = self._segments.pins()
        left = [pin for pin in pins if pin.id != name]
        if len(left) < len(pins):
            self._segments.keep(left)
        return len(left) < len(pins)


def _content(segment: RecordingSegment) -> Content:
    try:
        fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"there is no recording {segment.name!r} any more", name=segment.name) from None
    size = os.fstat(fd).st_size
    file = FileBody(fd)
    return Content(size, "video/mp4", file.read, file.close, f'"{segment.name}-{size}"', filename=f"{segment.name}.mp4")


def _recording(segment: RecordingSegment) -> ScreenRecording:
    return ScreenRecording(
        name=segment.name, start=segment.start, end=segment.end, bytes=segment.bytes, over=segment.over, pinned=segment.pinned
    )


def _pin(pin: Pin) -> RecordingPin:
    return RecordingPin(id=pin.id, since=pin.since, until=pin.until, by=pin.by, note=pin.note)
