"""A plan as messages: compressed by native code on threads of their own, several viewers' side by side."""

import asyncio
import io
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from PIL import Image

from sandbox_server.stream import wire
from sandbox_server.stream.pixels import Area
from sandbox_server.stream.view import Plan
from sandbox_server.stream.zstd import compress

THREADS = 2
QUALITY = 80
"""Of the first look at a picture, which is sent exactly once it is still."""
TRACK_CLOCK = 90_000
"""Ticks a second of a track's timestamps (RFC 6184, section 8.1)."""
LEVELS = (3, 1)
"""Of zstd; the smaller is sent: what is like a photograph takes a tenth less with the second, which looks for fewer repetitions."""
SOON_BYTES = 2048
"""What is smaller is compressed at once: to hand it to a thread takes longer."""


class Encoders:
    """Compresses for all viewers."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "encode")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def messages(self, plan: Plan, rate: int, *, tracked: bool = False) -> AsyncIterator[bytes]:
        """The messages that bring a viewer what was planned, as they are ready; the last of them ends the frame.

        Films take at most `rate` bits a second together, and go by a track if they are `tracked`.
        """
        loop = asyncio.get_running_loop()
        works = [loop.run_in_executor(self._threads, _exact, piece) for piece in plan.exact if len(piece) > SOON_BYTES]
        works += [loop.run_in_executor(self._threads, _picture, area, pixels) for area, pixels in plan.pictures]
        films = [loop.run_in_executor(self._threads, film.compress, rate // len(plan.films)) for _, film in plan.films]
        waiting = b"".join(wire.film_ends(number) for number in plan.ended)
        waiting += b"".join(wire.over(number, areas) for number, areas in plan.over)
        waiting += wire.moves(plan.moves) if plan.moves else b""
        waiting += b"".join((wire.keep(keep) if keep else b"") + (wire.kept(put) if put else b"") for keep, put in plan.kept)
        waiting += b"".join(_exact(piece) for piece in plan.exact if len(piece) <= SOON_BYTES)
        for work in works:
            if waiting:
                yield wire.part(plan.frame, waiting, last=False)
            waiting = await work
        for (number, writer), picture in zip(plan.films, films, strict=True):
            if waiting:
                yield wire.part(plan.frame, waiting, last=False)
            packed, key = await picture
            if tracked:
                timestamp = int(time.monotonic() * TRACK_CLOCK) & 0xFFFFFFFF
                yield wire.picture(timestamp, packed)
                waiting = wire.tracked(number, writer.area, timestamp)
            else:
                waiting = wire.film(number, writer.area, packed, key=key)
        yield wire.part(plan.frame, waiting, last=True)


def _exact(piece: bytes) -> bytes:
    levels = LEVELS if len(piece) > SOON_BYTES else LEVELS[:1]
    return wire.exact(min((compress(piece, level) for level in levels), key=len), len(piece))


def _picture(area: Area, pixels: bytearray) -> bytes:
    image = Image.frombuffer("RGB", area[2:], pixels, "raw", "BGRX", 0, 1)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return wire.jpeg(area, out.getvalue())
