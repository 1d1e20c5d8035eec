"""The ctypes binding of the C kernels: the shared library, its structures and the signature of every function."""

import ctypes
import functools

LIBRARY = "/usr/local/lib/tandem-pixels.so"
"""Where the image's build puts the compiled `native/*.c`."""
TILE = 32
"""Side of the tiles of the change grid, in pixels."""
CACHED_TILES = 4096
"""Slots of a viewer's tile cache, 4 KiB each."""


class Rect(ctypes.Structure):
    """A rect of one kind (solid, text or picture), in pixels."""

    _fields_ = (
        ("x", ctypes.c_uint16),
        ("y", ctypes.c_uint16),
        ("width", ctypes.c_uint16),
        ("height", ctypes.c_uint16),
        ("colour", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
    )


class MovedRect(ctypes.Structure):
    """A rect whose pixels are copied from elsewhere in the picture. The layout is the one on the wire."""

    _fields_ = tuple((name, ctypes.c_uint16) for name in ("from_x", "from_y", "x", "y", "width", "height"))


class CachedTile(ctypes.Structure):
    """A tile to store in, or draw from, a slot of the tile cache. The layout is the one on the wire."""

    _fields_ = tuple((name, ctypes.c_uint16) for name in ("slot", "x", "y"))


class BufferPair(ctypes.Structure):
    """A captured frame and a viewer's shadow buffer of the same size."""

    _fields_ = (
        ("screen", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("stride", ctypes.c_int),
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
    )


@functools.cache
def library() -> ctypes.CDLL:
    """Load the shared library once, with the argument types of its functions declared."""
    found = ctypes.CDLL(LIBRARY)
    found.find_changes.argtypes = (
        ctypes.c_void_p,
        *[ctypes.c_int] * 4,
        ctypes.c_uint32,
        *[ctypes.c_void_p] * 2,
        ctypes.c_int,
        ctypes.c_void_p,
    )
    found.find_moves.argtypes = found.find_shifts.argtypes = (ctypes.c_void_p, *[ctypes.c_int] * 4, ctypes.c_void_p, ctypes.c_int)
    found.pack.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    found.unpack.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    found.mark_sent.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32)
    found.invalidate.argtypes = (ctypes.c_void_p, *[ctypes.c_int] * 4)
    found.apply_moves.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    found.crop.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    found.paste.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    found.raise_activity.argtypes = (*[ctypes.c_void_p] * 2, *[ctypes.c_int] * 2, ctypes.c_void_p, *[ctypes.c_int] * 2)
    found.decay_activity.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    found.find_active.argtypes = (*[ctypes.c_void_p] * 4, *[ctypes.c_int] * 3, ctypes.c_void_p, ctypes.c_int)
    found.tile_cache_size.restype = ctypes.c_size_t
    found.find_cached_tiles.argtypes = (*[ctypes.c_void_p] * 2, *[ctypes.c_int] * 4, *[ctypes.c_void_p] * 3, ctypes.c_int, ctypes.c_void_p)
    found.store_tiles.argtypes = found.draw_tiles.argtypes = (
        ctypes.c_void_p,
        *[ctypes.c_int] * 2,
        ctypes.c_void_p,
        ctypes.c_int,
        *[ctypes.c_void_p] * 2,
    )
    found.cell_size.restype = ctypes.c_size_t
    found.find_overlay.argtypes = (*[ctypes.c_void_p] * 6, ctypes.c_uint32, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    found.downscale.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    found.to_yuv.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return found
