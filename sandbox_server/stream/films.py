"""Films: what really moves, as H.264 by libav's x264; and the reader of them that clients in Python use."""

from typing import Any

import av
from av.video.codeccontext import VideoCodecContext
from PIL import Image

from sandbox_server.stream.pixels import Area
from sandbox_server.stream.wire import BadMessage


class FilmReader:
    """Shows the latest picture of a film."""

    def __init__(self) -> None:
        self._codec: Any = VideoCodecContext.create("h264", "r")
        self._codec.thread_count = 1
        self._latest: Any = None
        self._area: Area = (0, 0, 0, 0)

    def next(self, area: Area, packed: bytes) -> None:
        """Take the next picture. Raises BadMessage for what is none."""
        try:
            for frame in self._codec.decode(av.Packet(packed)):
                self._latest, self._area = frame, area
        except av.FFmpegError:
            raise BadMessage("this is no picture of a film") from None

    def draw(self, picture: Image.Image) -> None:
        """Draw the latest picture where it belongs."""
        if self._latest is not None:
            x, y, width, height = self._area
            picture.paste(self._latest.to_image().resize((width, height)), (x, y))
