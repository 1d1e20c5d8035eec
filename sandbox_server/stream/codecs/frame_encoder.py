"""Encoding of an update plan into messages, by native code on a pool of threads that all viewers share."""

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.exact import SMALL_BYTES, encode_exact
from sandbox_server.stream.codecs.jpeg import encode_jpeg
from sandbox_server.stream.plan.update_plan import UpdatePlan

THREADS = 2
RTP_CLOCK = 90_000
"""Ticks a second of RTP timestamps of video (RFC 6184, section 8.1)."""


class FrameEncoder:
    """Encodes for all viewers, several at once."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "encode")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def encode(self, plan: UpdatePlan, rate: int, *, tracked: bool = False) -> AsyncIterator[bytes]:
        """Encode a plan into messages, each as soon as it is ready. The last of them ends the frame.

        Videos share `rate` bits a second. With `tracked` their pictures go by an RTP track.
        """
        loop = asyncio.get_running_loop()
        works = [loop.run_in_executor(self._threads, encode_exact, piece) for piece in plan.exact if len(piece) > SMALL_BYTES]
        works += [loop.run_in_executor(self._threads, encode_jpeg, area, pixels) for area, pixels in plan.pictures]
        videos = [loop.run_in_executor(self._threads, encoder.encode, rate // len(plan.videos)) for _, encoder in plan.videos]
        waiting = _small_operations(plan)
        for work in works:
            if waiting:
                yield wire.part(plan.frame, waiting, last=False)
            waiting = await work
        for (number, encoder), access_unit in zip(plan.videos, videos, strict=True):
            if waiting:
                yield wire.part(plan.frame, waiting, last=False)
            packed, keyframe = await access_unit
            if tracked:
                timestamp = int(time.monotonic() * RTP_CLOCK) & 0xFFFFFFFF
                yield wire.picture(timestamp, packed)
                waiting = wire.tracked(number, encoder.area, timestamp)
            else:
                waiting = wire.video(number, encoder.area, packed, key=keyframe)
        yield wire.part(plan.frame, waiting, last=True)


def _small_operations(plan: UpdatePlan) -> bytes:
    """What is encoded at once: ends of videos, overlays, moves, tiles of the cache, and small exact rects."""
    operations = [wire.video_ends(number) for number in plan.ended]
    operations += [wire.over(number, areas) for number, areas in plan.overlays]
    operations += [wire.moves(plan.moves)] if plan.moves else []
    for store, draw in plan.cached_tiles:
        operations += [wire.keep(store)] if store else []
        operations += [wire.kept(draw)] if draw else []
    operations += [encode_exact(piece) for piece in plan.exact if len(piece) <= SMALL_BYTES]
    return b"".join(operations)
