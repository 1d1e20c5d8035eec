"""The video codec for what keeps moving: H.264 (constrained baseline) by libav's x264, and its decoder for clients in Python."""

import ctypes
import struct
import time
from fractions import Fraction
from typing import Any

import av
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType
from PIL import Image

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.codecs.conversion import downscale, to_yuv
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.wire import MalformedMessage

QUALITY = 18
"""x264's constant rate factor, where the link has room. Structural similarity of the benchmark's video at 23, 20, 18 and 17: 0.972, 0.979,
0.983 and 0.985, at 1.0, 1.5, 2.2 and 2.6 Mbit/s."""
SMALL_PIXELS = 1280 * 720
"""Video up to this size is encoded with the slower preset: half as long again, for two thirds of the bits and a better picture."""
RECONFIGURE = 0.1
"""A bitrate that differs by less than this part is left as it is."""
BUFFER_SECONDS = 0.1
"""Length of the rate control's buffer: no picture is larger than what the link takes in this time."""
_PARAMETERS = "colorprim=bt709:transfer=bt709:colormatrix=bt709:keyint=infinite:scenecut=0:annexb=1:repeat-headers=1"
_MILLISECONDS = Fraction(1, 1000)
_QUANTISER = 118
"""What libav multiplies the quantiser by (FF_QP2LAMBDA)."""


class H264Encoder:
    """Encodes one area of the screen at up to `rate` bits a second, at `scale` (1 or 2) times fewer pixels a side."""

    def __init__(self, area: Area, rate: int, scale: int = 1) -> None:
        self.area = area
        self.scale = scale
        self.rate = rate
        self.quantiser: float | None = None
        """The quantiser of the latest picture, up to 51; a larger one is coarser."""
        self.share = 0.0
        """Part of the bitrate that the latest picture took."""
        width, height = (side // (2 * scale) * 2 for side in area[2:])
        self._size = width, height
        self._half = (ctypes.c_uint32 * (width * height))() if scale > 1 else None
        self._frame: Any = av.VideoFrame(width, height, "yuv420p")
        self._codec: Any = VideoCodecContext.create("libx264", "w")
        self._codec.width, self._codec.height, self._codec.pix_fmt = width, height, "yuv420p"
        self._codec.time_base, self._codec.framerate, self._codec.thread_count = _MILLISECONDS, Fraction(30, 1), 1
        self._codec.options = {
            "preset": "superfast" if width * height <= SMALL_PIXELS else "ultrafast",
            "tune": "zerolatency",
            "profile": "baseline",
            "crf": str(QUALITY),
            "maxrate": str(rate),
            "bufsize": str(int(rate * BUFFER_SECONDS)),
            "forced-idr": "1",
            "x264-params": _PARAMETERS,
        }
        self._codec.open()  # what is set before that, these options replace
        self._started = time.monotonic()
        self._last = -1
        self._keyframe = False

    def request_keyframe(self) -> None:
        """Encode the next picture as a keyframe, which needs none before it."""
        self._keyframe = True

    def capture(self, frame: CapturedFrame) -> None:
        """Copy the area's pixels out of the frame."""
        planes, (x, y), (width, height) = self._frame.planes, self.area[:2], self._size
        if self._half is not None:
            frame, x, y = downscale(frame, (x, y, 2 * width, 2 * height), self._half), 0, 0
        to_yuv(frame, (x, y, width, height), [plane.buffer_ptr for plane in planes], [plane.line_size for plane in planes])

    def encode(self, rate: int) -> tuple[bytes, bool]:
        """Encode what was captured last, at up to `rate` bits a second from now on; whether it is a keyframe comes with it."""
        if abs(rate - self.rate) > self.rate * RECONFIGURE:
            self.rate = self._codec.max_bit_rate = rate
            self._codec.rc_buffer_size = int(rate * BUFFER_SECONDS)
        before, self._last = self._last, max(self._last + 1, int((time.monotonic() - self._started) * 1000))
        self._frame.pts = self._last
        self._frame.pict_type = PictureType.I if self._keyframe else PictureType.NONE
        self._keyframe = False
        packets = self._codec.encode(self._frame)
        self.share = sum(packet.size for packet in packets) * 8000 / ((self._last - before) * self.rate)
        for packet in packets:
            if packet.has_sidedata("quality_stats"):
                self.quantiser = struct.unpack_from("<I", bytes(packet.get_sidedata("quality_stats")))[0] / _QUANTISER
        return b"".join(bytes(packet) for packet in packets), any(packet.is_keyframe for packet in packets)


class H264Decoder:
    """Decodes the video of one region and keeps its latest picture."""

    def __init__(self) -> None:
        self._codec: Any = VideoCodecContext.create("h264", "r")
        self._codec.thread_count = 1
        self._latest: Any = None
        self._area: Area = (0, 0, 0, 0)

    def decode(self, area: Area, packed: bytes) -> None:
        """Take the next access unit. Raises MalformedMessage for what is none."""
        try:
            for frame in self._codec.decode(av.Packet(packed)):
                self._latest, self._area = frame, area
        except av.FFmpegError:
            raise MalformedMessage("this is no access unit of H.264") from None

    def draw(self, picture: Image.Image) -> None:
        """Draw the latest picture where it belongs."""
        if self._latest is not None:
            x, y, width, height = self._area
            rgb = self._latest.reformat(format="rgb24", src_colorspace="ITU709", src_color_range="MPEG", dst_color_range="JPEG")
            picture.paste(rgb.to_image().resize((width, height)), (x, y))
