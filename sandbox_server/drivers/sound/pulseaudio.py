"""Sound of the desktop: recording what its programs play, and playing into their microphone.

It uses libpulse-simple (PulseAudio's `pulse/simple.h`). The calls block, so each stream has a thread of its own.
"""

import asyncio
import ctypes
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from sandbox_server.core.errors import Unavailable

RATE = 48000
CHANNELS = 2
CHUNK_SECONDS = 0.02
"""Duration of a chunk of recorded sound."""
MONITOR = b"desktop.monitor"
"""The monitor of the main sink of `sound.pa`."""
SPEECH = b"speech"
"""The sink of `sound.pa` that feeds the desktop's microphone."""
SPEECH_SECONDS = 0.12
"""Limit of buffered seconds."""
SPEECH_BEGINS_SECONDS = 0.06
"""Seconds that are buffered before playback starts, so that late samples are in time."""

_LIBRARY = "libpulse-simple.so.0"
_PLAY, _RECORD = 1, 2
_S16LE = 3
_DEFAULT = 0xFFFFFFFF
_CHUNK_BYTES = round(RATE * CHUNK_SECONDS) * CHANNELS * 2

type Say = Callable[[bytes], Awaitable[None]]


class _Samples(ctypes.Structure):
    """`pa_sample_spec`."""

    _fields_ = (("format", ctypes.c_int), ("rate", ctypes.c_uint32), ("channels", ctypes.c_uint8))


class _Buffers(ctypes.Structure):
    """`pa_buffer_attr`."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in ("maxlength", "tlength", "prebuf", "minreq", "fragsize"))


class PulseAudio:
    """The sound server at `socket`."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    @property
    def available(self) -> bool:
        """Whether there is a sound server. The component may be left out."""
        return os.path.exists(self._socket)

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """Record 16-bit stereo samples at `RATE`, in chunks of `CHUNK_SECONDS`; silence while nothing plays.

        Raises Unavailable if there is no sound server, and from the iterator when it ends.
        """
        async with _opened(lambda: _Stream(self._socket, MONITOR)) as (thread, stream):
            yield _pieces(thread, stream)

    @asynccontextmanager
    async def speak(self) -> AsyncIterator[Say]:
        """Play 16-bit mono samples at `RATE` into the desktop's microphone; at most `SPEECH_SECONDS` are buffered.

        Raises Unavailable if there is no sound server or no microphone, and on a write after either has ended.
        """
        async with _opened(lambda: _Stream(self._socket, SPEECH, plays=True)) as (thread, stream):
            loop = asyncio.get_running_loop()
            yield lambda samples: loop.run_in_executor(thread, stream.write, samples)


@asynccontextmanager
async def _opened(make: "Callable[[], _Stream]") -> AsyncIterator[tuple[ThreadPoolExecutor, "_Stream"]]:
    """Open a stream and its thread, which closes the stream after its last call."""
    thread = ThreadPoolExecutor(1, "sound")
    opened = asyncio.get_running_loop().run_in_executor(thread, make)
    try:
        yield thread, await asyncio.shield(opened)
    finally:
        opened.add_done_callback(lambda made: thread.submit(_close, made))
        opened.add_done_callback(lambda _: thread.shutdown(wait=False))


async def _pieces(thread: ThreadPoolExecutor, stream: "_Stream") -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    while True:
        yield await loop.run_in_executor(thread, stream.read)


def _close(made: "asyncio.Future[_Stream]") -> None:
    if not made.cancelled() and made.exception() is None:
        made.result().close()


class _Stream:
    """One connection to the sound server, used by one thread: it records `device`, or plays there."""

    def __init__(self, socket: str, device: bytes, *, plays: bool = False) -> None:
        self._library = _load()
        samples = _Samples(_S16LE, RATE, 1 if plays else CHANNELS)
        most, begins = (round(RATE * seconds) * 2 for seconds in (SPEECH_SECONDS, SPEECH_BEGINS_SECONDS))
        heard, played = (*(_DEFAULT,) * 4, _CHUNK_BYTES), (_DEFAULT, most, begins, _DEFAULT, _DEFAULT)
        buffers = _Buffers(*(played if plays else heard))
        error = ctypes.c_int(0)
        self._stream: int | None = self._library.pa_simple_new(
            f"unix:{socket}".encode(),
            b"sandbox",
            _PLAY if plays else _RECORD,
            device,
            b"speech" if plays else b"recording",
            ctypes.byref(samples),
            None,
            ctypes.byref(buffers),
            ctypes.byref(error),
        )
        if not self._stream:
            raise self._down(error)

    def read(self) -> bytes:
        """Wait for the next chunk."""
        piece = ctypes.create_string_buffer(_CHUNK_BYTES)
        error = ctypes.c_int(0)
        if self._library.pa_simple_read(self._stream, piece, _CHUNK_BYTES, ctypes.byref(error)) < 0:
            raise self._down(error)
        return piece.raw

    def write(self, samples: bytes) -> None:
        """Play samples, as soon as there is room for them."""
        error = ctypes.c_int(0)
        if self._library.pa_simple_write(self._stream, samples, len(samples), ctypes.byref(error)) < 0:
            raise self._down(error)

    def close(self) -> None:
        """Close the connection."""
        self._library.pa_simple_free(self._stream)

    def _down(self, error: ctypes.c_int) -> Unavailable:
        reason = self._library.pa_strerror(error).decode("utf-8", "replace")
        return Unavailable(f"the sound of the desktop cannot be heard: {reason}", retry_after=1.0)


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise Unavailable("the sound of the desktop cannot be heard: libpulse is not installed") from error
    library.pa_simple_new.restype = ctypes.c_void_p
    library.pa_simple_new.argtypes = (
        *(ctypes.c_char_p,) * 2,
        ctypes.c_int,
        *(ctypes.c_char_p,) * 2,
        *(ctypes.c_void_p,) * 4,
    )
    library.pa_simple_read.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    library.pa_simple_write.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p)
    library.pa_simple_free.argtypes = (ctypes.c_void_p,)
    library.pa_strerror.restype = ctypes.c_char_p
    library.pa_strerror.argtypes = (ctypes.c_int,)
    return library
