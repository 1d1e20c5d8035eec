"""Pixels copied out of a frame in the form that a codec takes: cropped, downscaled, or as planar YUV."""

import ctypes
from collections.abc import Sequence
from typing import Any

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.native.library import Rect, library


def crop(frame: CapturedFrame, rect: Rect) -> bytearray:
    """The pixels of a rect of the frame, without gaps between rows."""
    out = bytearray(rect.width * rect.height * 4)
    library().crop(frame.address, frame.width, ctypes.byref(rect), (ctypes.c_uint8 * len(out)).from_buffer(out))
    return out


def downscale(frame: CapturedFrame, area: Area, out: Any) -> CapturedFrame:
    """An area at half its size, written to the memory `out`. An odd last row or column is left out."""
    library().downscale(frame.address, frame.width, ctypes.byref(Rect(*area)), out)
    return CapturedFrame(ctypes.addressof(out), area[2] // 2, area[3] // 2)


def to_yuv(frame: CapturedFrame, area: Area, planes: Sequence[int], strides: Sequence[int]) -> None:
    """Convert an area of even size to YUV 4:2:0 (BT.709). The planes are given by address and bytes a row."""
    rows, addresses = (ctypes.c_int * 3)(*strides), (ctypes.c_void_p * 3)(*planes)
    library().to_yuv(frame.address, frame.width, ctypes.byref(Rect(*area)), addresses, rows)
