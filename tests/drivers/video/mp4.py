"""Looking at recordings that were made."""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import av
from PIL import Image

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def plain(colour: tuple[int, int, int], size: tuple[int, int] = (64, 48)) -> Image.Image:
    """A picture of one colour."""
    return Image.new("RGB", size, colour)


class Shown(NamedTuple):
    """A picture of a recording: when it is shown, in seconds, and the colour of its middle."""

    at: float
    colour: str


def shown(file: Path) -> list[Shown]:
    """Every picture of a recording."""
    with av.open(str(file)) as container:
        return [Shown(round(float(frame.time or 0), 3), _name(_picture(frame))) for frame in container.decode(video=0)]


def colours(file: Path) -> list[str]:
    """The colours of a recording in their order, each once in a row."""
    found = [each.colour for each in shown(file)]
    return [colour for number, colour in enumerate(found) if number == 0 or found[number - 1] != colour]


def size(file: Path) -> tuple[int, int]:
    """Width and height in pixels."""
    with av.open(str(file)) as container:
        return container.streams.video[0].width, container.streams.video[0].height


def loudness(file: Path) -> list[int]:
    """The loudest sample of each piece of a recording's sound, 0 to 32767."""
    with av.open(str(file)) as container:
        if not container.streams.audio:
            return []
        resampler = av.AudioResampler(format="s16", layout="mono", rate=48000)
        pieces = [piece for frame in container.decode(audio=0) for piece in resampler.resample(frame)]
    return [max(abs(sample) for sample in memoryview(bytes(piece.planes[0])).cast("h")) for piece in pieces]


def sound_seconds(file: Path) -> Fraction:
    """How long a recording's sound is."""
    with av.open(str(file)) as container:
        return sum((Fraction(frame.samples, frame.sample_rate) for frame in container.decode(audio=0)), Fraction(0))


def _picture(frame: av.VideoFrame) -> Image.Image:
    made: Image.Image = frame.to_image()  # type: ignore[no-untyped-call] # the package leaves it out
    return made


def _name(picture: Image.Image) -> str:
    middle = picture.getpixel((picture.width // 2, picture.height // 2))
    assert isinstance(middle, tuple)
    return ("red", "green", "blue")[max(range(3), key=lambda channel: middle[channel])]
