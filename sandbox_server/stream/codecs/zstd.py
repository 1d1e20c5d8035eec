"""Zstandard by the system's libzstd (zstd.h), called through ctypes, so the interpreter lock is released meanwhile."""

import ctypes
import functools
from ctypes.util import find_library

LEVEL = 3
"""Default level. On screen text, level 9 saves a tenth more and takes six times as long."""


class BadCompression(ValueError):
    """The bytes are not one complete zstd frame of the expected size."""


@functools.cache
def _library() -> ctypes.CDLL:
    found = ctypes.CDLL(find_library("zstd") or "libzstd.so.1")
    size, address = ctypes.c_size_t, ctypes.c_char_p
    found.ZSTD_compressBound.argtypes, found.ZSTD_compressBound.restype = (size,), size
    found.ZSTD_compress.argtypes, found.ZSTD_compress.restype = (ctypes.c_void_p, size, address, size, ctypes.c_int), size
    found.ZSTD_decompress.argtypes, found.ZSTD_decompress.restype = (ctypes.c_void_p, size, address, size), size
    found.ZSTD_isError.argtypes, found.ZSTD_isError.restype = (size,), ctypes.c_uint
    return found


def compress(plain: bytes, level: int = LEVEL) -> bytes:
    """Compress into one zstd frame."""
    library = _library()
    room = library.ZSTD_compressBound(len(plain))
    out = ctypes.create_string_buffer(room)
    length = library.ZSTD_compress(out, room, plain, len(plain), level)
    return memoryview(out)[:length].tobytes()


def decompress(packed: bytes, length: int) -> bytes:
    """Decompress a frame that has `length` bytes uncompressed. Raises BadCompression."""
    library = _library()
    out = ctypes.create_string_buffer(max(1, length))
    made = library.ZSTD_decompress(out, length, packed, len(packed))
    if library.ZSTD_isError(made) or made != length:
        raise BadCompression(f"this is no frame of {length} bytes")
    return memoryview(out)[:length].tobytes()
