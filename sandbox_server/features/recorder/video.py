"""What the screen looked like: films of when somebody acted, and what is pinned of them."""

import os
import secrets
import time
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Call, Content, Model, NotFound, ResourceExhausted, operation
from sandbox_server.drivers.recorder.camera import Camera
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.reel import Film, Pin, Reel
from sandbox_server.features.recorder.file_body import OpenedFile
from sandbox_server.features.recorder.guard import actor_of

PINNED_SECONDS = 600.0
MAX_PINS = 100


class FilmShown(Model):
    name: str
    """GET /v1/recorder/video/{name} is the film: MP4 with H.264."""
    start: float
    """When it begins, in seconds since the epoch; a second of it is a second."""
    end: float
    """When it ends."""
    bytes: int
    over: bool
    """Whether it is not still being made."""
    pinned: bool


class PinShown(Model):
    id: str
    since: float
    until: float
    by: str
    note: str


class Films(Model):
    films: list[FilmShown]
    """The oldest first. There is none of when nobody acted."""
    pins: list[PinShown]
    filming: bool
    """Whether somebody acts now, and is filmed."""


class PinFilms(Model):
    since: float | None = None
    """From when on, in seconds since the epoch. Null: ten minutes before `until`."""
    until: float | None = None
    """Until when. Null: now."""
    note: Annotated[str, Field(max_length=400)] = ""


class PinRef(Model):
    id: Annotated[str, Field(max_length=40)]


class FilmRef(Model):
    name: Annotated[str, Field(max_length=20, pattern="^[0-9]+$")]


class RecordedVideo:
    """Lists, gives and pins films."""

    tag = "recorder"

    def __init__(self, reel: Reel, camera: Camera, journal: Journal) -> None:
        self._reel = reel
        self._camera = camera
        self._journal = journal

    @operation("GET /v1/recorder/video", scope="admin")
    async def list_films(self) -> Films:
        """List the films of the screen that are kept, and what is pinned."""
        films, pins = await self._camera.in_thread(lambda: (self._reel.films(), self._reel.pins()))
        return Films(films=[_film(film) for film in films], pins=[_pin(pin) for pin in pins], filming=self._camera.filming)

    @operation("GET /v1/recorder/video/{name}", scope="admin", media_type="video/mp4")
    async def get_film(self, request: FilmRef) -> Content:
        """Get a film; one that is being made as far as it is."""
        films = await self._camera.in_thread(self._reel.films)
        film = next((film for film in films if film.name == request.name), None)
        if film is None:
            raise NotFound(f"there is no film {request.name!r}", name=request.name)
        return _content(film)

    @operation("POST /v1/recorder/pin", scope="admin")
    async def pin_films(self, request: PinFilms, call: Call) -> PinShown:
        """Keep what was filmed, whatever room it takes; up to half of the room for all films can be pinned."""
        until = request.until or time.time()
        since = request.since if request.since is not None else until - PINNED_SECONDS
        pin = Pin(secrets.token_hex(6), since, until, call.caller.name, request.note)
        await self._camera.in_thread(lambda: self._keep(pin))
        self._journal.record("video", actor_of(call.caller), call.caller.name, event="pinned", since=since, until=until)
        return _pin(pin)

    @operation("DELETE /v1/recorder/pin/{id}", scope="admin")
    async def unpin_films(self, request: PinRef, call: Call) -> None:
        """Let what was pinned go when its time has come."""
        if not await self._camera.in_thread(lambda: self._drop(request.id)):
            raise NotFound(f"nothing is pinned as {request.id!r}", id=request.id)
        self._journal.record("video", actor_of(call.caller), call.caller.name, event="unpinned")

    def _keep(self, pin: Pin) -> None:
        pins = [*self._reel.pins(), pin]
        taken = sum(film.bytes for film in self._reel.films() if any(each.holds(film) for each in pins))
        if taken > self._reel.pin_bytes or len(pins) > MAX_PINS:
            raise ResourceExhausted(f"{taken} bytes would be pinned: {self._reel.pin_bytes} may be, in {MAX_PINS} pins")
        self._reel.keep(pins)

    def _drop(self, name: str) -> bool:
        pins = self._reel.pins()
        left = [pin for pin in pins if pin.id != name]
        if len(left) < len(pins):
            self._reel.keep(left)
        return len(left) < len(pins)


def _content(film: Film) -> Content:
    try:
        fd = os.open(film.path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"there is no film {film.name!r} any more", name=film.name) from None
    size = os.fstat(fd).st_size
    file = OpenedFile(fd)
    return Content(size, "video/mp4", file.read, file.close, f'"{film.name}-{size}"', filename=f"{film.name}.mp4")


def _film(film: Film) -> FilmShown:
    return FilmShown(name=film.name, start=film.start, end=film.end, bytes=film.bytes, over=film.over, pinned=film.pinned)


def _pin(pin: Pin) -> PinShown:
    return PinShown(id=pin.id, since=pin.since, until=pin.until, by=pin.by, note=pin.note)
