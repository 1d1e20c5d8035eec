"""Sound of the desktop: what its programs play, heard at the sink that nobody listens to.

Through libpulse-simple (PulseAudio's `pulse/simple.h`): its calls wait, so each listener has a thread of its own.
"""

import asyncio
import ctypes
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from sandbox_server.core.errors import Unavailable

RATE = 48000
CHANNELS = 2
CHUNK_SECONDS = 0.02
"""What is heard arrives in pieces of this length."""
MONITOR = b"desktop.monitor"
"""What the sink of `sound.pa` plays."""

_LIBRARY = "libpulse-simple.so.0"
_RECORD = 2
_S16LE = 3
_DEFAULT = 0xFFFFFFFF
_CHUNK_BYTES = round(RATE * CHUNK_SECONDS) * CHANNELS * 2


class _Samples(ctypes.Structure):
    """`pa_sample_spec`."""

    _fields_ = (("format", ctypes.c_int), ("rate", ctypes.c_uint32), ("channels", ctypes.c_uint8))


class _Buffers(ctypes.Structure):
    """`pa_buffer_attr`."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in ("maxlength", "tlength", "prebuf", "minreq", "fragsize"))


class Sound:
    """The sound server that listens on `socket`."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    @property
    def available(self) -> bool:
        """Whether there is a sound server; it may be left out."""
        return os.path.exists(self._socket)

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """Samples of 16 bits, left and right, `RATE` a second, in pieces of `CHUNK_SECONDS`; silence where nothing plays.

        Raises Unavailable where there is no sound server, and from the iterator when it ends.
        """
        thread = ThreadPoolExecutor(1, "sound")
        loop = asyncio.get_running_loop()
        opened = loop.run_in_executor(thread, _Listener, self._socket)
        try:
            listener = await asyncio.shield(opened)
            yield _pieces(thread, listener)
        finally:
            opened.add_done_callback(lambda made: thread.submit(_close, made))
            opened.add_done_callback(lambda _: thread.shutdown(wait=False))


async def _pieces(thread: ThreadPoolExecutor, listener: "_Listener") -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    while True:
        yield await loop.run_in_executor(thread, listener.read)


def _close(made: "asyncio.Future[_Listener]") -> None:
    if not made.cancelled() and made.exception() is None:
        made.result().close()


class _Listener:
    """One connection to the sound server, used by one thread."""

    def __init__(self, socket: str) -> None:
        self._library = _load()
        samples = _Samples(_S16LE, RATE, CHANNELS)
        buffers = _Buffers(_DEFAULT, _DEFAULT, _DEFAULT, _DEFAULT, _CHUNK_BYTES)
        error = ctypes.c_int(0)
        self._stream: int | None = self._library.pa_simple_new(
            f"unix:{socket}".encode(),
            b"sandbox",
            _RECORD,
            MONITOR,
            b"recording",
            ctypes.byref(samples),
            None,
            ctypes.byref(buffers),
            ctypes.byref(error),
        )
        if not self._stream:
            raise self._down(error)

    def read(self) -> bytes:
        """Wait for the next piece."""
        piece = ctypes.create_string_buffer(_CHUNK_BYTES)
        error = ctypes.c_int(0)
        if self._library.pa_simple_read(self._stream, piece, _CHUNK_BYTES, ctypes.byref(error)) < 0:
            raise self._down(error)
        return piece.raw

    def close(self) -> None:
        """End the connection."""
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
    library.pa_simple_free.argtypes = (ctypes.c_void_p,)
    library.pa_strerror.restype = ctypes.c_char_p
    library.pa_strerror.argtypes = (ctypes.c_int,)
    return library
