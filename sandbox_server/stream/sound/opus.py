"""Opus (RFC 6716): the encoder of what the desktop plays, and the decoder of a viewer's speech, both by libav's libopus."""

import av

from sandbox_server.drivers.sound.pulseaudio import CHANNELS, RATE

BITRATE = 96_000
"""Bits a second; Opus is transparent to most ears from here on."""


class OpusEncoder:
    """Encodes stereo sound. It is used by one thread."""

    def __init__(self) -> None:
        self._codec = av.AudioCodecContext.create("libopus", "w")
        self._codec.sample_rate, self._codec.layout, self._codec.format = RATE, "stereo", "s16"
        self._codec.bit_rate = BITRATE
        self._codec.options = {"application": "lowdelay", "frame_duration": "20"}
        self._samples = 0

    def encode(self, piece: bytes) -> bytes:
        """Encode 20 ms of sound (16 bits, left and right) into one packet."""
        frame = av.AudioFrame(format="s16", layout="stereo", samples=len(piece) // (2 * CHANNELS))
        frame.sample_rate, frame.pts = RATE, self._samples
        self._samples += frame.samples
        frame.planes[0].update(piece)
        return b"".join(bytes(packet) for packet in self._codec.encode(frame))


class OpusDecoder:
    """Decodes speech, one channel."""

    def __init__(self) -> None:
        self._codec = av.AudioCodecContext.create("libopus", "r")
        self._codec.sample_rate, self._codec.layout, self._codec.format = RATE, "mono", "s16"

    def decode(self, packet: bytes) -> bytes:
        """The samples of one packet, 16 bits; none where it is malformed."""
        try:
            frames = self._codec.decode(av.Packet(packet))
        except av.FFmpegError:
            return b""
        return b"".join(bytes(frame.planes[0])[: frame.samples * 2] for frame in frames)
