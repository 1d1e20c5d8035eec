"""Writes an MP4 file: H.264, and AAC if there is sound, fragmented (ISO/IEC 14496-12, section 8.8).

Each second is complete in the file once it has passed, so a file whose writer was killed plays up to its last second.
"""

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import av
from av.video import VideoStream
from av.video.reformatter import VideoReformatter
from PIL import Image

SOUND_RATE = 48000
"""Samples per second; each has two channels of 16 bits."""
SOUND_SAMPLE = 4
STILL_SECONDS = 1.0
"""Seconds after which an unchanged frame is written again."""
SLIP_SECONDS = 0.1
"""Tolerated drift of sound in seconds before it is corrected."""
_KEY_SECONDS = 10.0
_TICKS = 90000
_THREADS = 2
_MOVIE = {"movflags": "empty_moov+default_base_moof", "frag_duration": "1000000", "flush_packets": "1"}


class _Output:
    """The file for the muxer, written sequentially.

    Errors are kept from FFmpeg's MP4 muxer, which crashes after one.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._failure: OSError | None = None

    def write(self, content: bytes) -> int:
        left = memoryview(content)
        try:
            while left and self._failure is None:
                left = left[os.write(self._fd, left) :]
        except OSError as error:
            self._failure = error
        return len(content)

    def check(self) -> None:
        """Raise an error that has happened since the last check."""
        if self._failure:
            raise self._failure


class Mp4Writer:
    """Encodes into `fd`, which stays the caller's. Not thread-safe.

    `size` is the video's in pixels, each side even; other frames are scaled. `crf` goes from 0, lossless, to 51.
    """

    def __init__(self, fd: int, size: tuple[int, int], *, fps: int, crf: int, sound: bool) -> None:
        self.pictures = 0
        """How many frames were written."""
        self._size = size
        self._output = _Output(fd)
        self._container = av.open(self._output, "w", format="mp4", options=dict(_MOVIE))
        self._video = self._add_video(fps, {"crf": str(crf), "preset": "veryfast", "tune": "zerolatency"})
        self._audio = self._container.add_stream("aac", rate=SOUND_RATE, layout="stereo") if sound else None
        self._scaler = VideoReformatter()  # PyAV's own of this thread would be freed in a forked child, without its threads: that hangs
        self._last: Image.Image | None = None
        self._written = self._key = float("-inf")
        self._samples = 0

    def _add_video(self, fps: int, options: Mapping[str, str]) -> VideoStream:
        stream = self._container.add_stream("libx264", rate=fps, options=dict(options))
        stream.width, stream.height = self._size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, _TICKS)
        stream.codec_context.thread_count = _THREADS
        return stream

    def show(self, picture: Image.Image, at: float) -> None:
        """Show a frame from `at` seconds on.

        An unchanged one costs nothing. Raises OSError if the file cannot be written.
        """
        still = self._last is not None and (picture is self._last or picture == self._last)
        if not still or at - self._written >= STILL_SECONDS:
            self._write(picture, at)

    def play(self, samples: bytes, at: float) -> None:
        """Add sound that began at `at` seconds."""
        if self._audio is None or not samples:
            return
        heard = max(0, round(at * SOUND_RATE))
        if abs(heard - self._samples) > SLIP_SECONDS * SOUND_RATE:
            self._samples = max(heard, self._samples)
        frame = av.AudioFrame(format="s16", layout="stereo", samples=len(samples) // SOUND_SAMPLE)
        frame.planes[0].update(samples)
        frame.sample_rate, frame.time_base, frame.pts = SOUND_RATE, Fraction(1, SOUND_RATE), self._samples
        self._samples += frame.samples
        self._mux(self._audio.encode(frame))

    def close(self, at: float) -> None:
        """End the file after `at` seconds."""
        try:
            if self._last is not None and at > self._written:
                self._write(self._last, at)
            for stream in (self._video, self._audio):
                if stream is not None:
                    self._mux(stream.encode(None))
        finally:
            self._container.close()
        self._output.check()

    def _write(self, picture: Image.Image, at: float) -> None:
        frame = _frame(picture if picture.mode == "RGB" else picture.convert("RGB"))
        frame = self._scaler.reformat(frame, width=self._size[0], height=self._size[1], format="yuv420p")
        frame.pts, frame.time_base = round(at * _TICKS), Fraction(1, _TICKS)
        if at - self._key >= _KEY_SECONDS:
            frame.pict_type, self._key = av.video.frame.PictureType.I, at
        self._last, self._written = picture, at
        self._mux(self._video.encode(frame))
        self.pictures += 1

    def _mux(self, packets: "Sequence[av.Packet[Any]]") -> None:
        self._container.mux(packets)
        self._output.check()


def _frame(picture: Image.Image) -> av.VideoFrame:
    made: av.VideoFrame = av.VideoFrame.from_image(picture)  # type: ignore[no-untyped-call] # the package leaves it out
    return made
