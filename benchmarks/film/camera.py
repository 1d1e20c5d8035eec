"""The camera: the frames of a page as Chromium paints them, and from them an animated WebP."""

import base64
import io
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"
WIDTH, HEIGHT = 960, 540
STRIP = 44
"""Pixels of the line of text below the page."""
LONGEST = 1.5
"""Seconds for which one frame stands: nobody watches a page load."""
FRAMES_PER_SECOND = 10
SECONDS = 21.0
MAX_BYTES = 1_500_000
LAST_FRAME_MS = 300
STILL_QUALITY = 80
QUALITIES = (70, 60, 50, 40, 30)


@dataclass(frozen=True, slots=True)
class Frame:
    """A painted page."""

    at: float
    jpeg: bytes
    said: str


class Camera:
    """Films a page from when it is made."""

    def __init__(self, page: Page) -> None:
        self.frames: list[Frame] = []
        self.stills: dict[str, bytes] = {}
        """PNG pictures by the names of their files."""
        self.said = ""
        """The line of text from now on."""
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._session.on("Page.screencastFrame", self._take)
        self._session.send("Page.startScreencast", {"format": "jpeg", "quality": 92, "everyNthFrame": 1})

    def _take(self, painted: dict[str, Any]) -> None:
        self.frames.append(Frame(time.monotonic(), base64.b64decode(painted["data"]), self.said))
        self._session.send("Page.screencastFrameAck", {"sessionId": painted["sessionId"]})

    def still(self, name: str) -> None:
        """Take a picture of the page as it is now."""
        self.stills[name] = self._page.screenshot()

    def stop(self) -> None:
        """Film no more. What was painted in that moment still comes."""
        self._session.send("Page.stopScreencast")
        self._page.wait_for_timeout(LAST_FRAME_MS)

    def save(self, file: Path) -> None:
        """Write the pictures beside the film, and the film in the best quality that is small enough. Raises ValueError if none is."""
        for name, png in self.stills.items():
            Image.open(io.BytesIO(png)).convert("RGB").save(file.with_name(name), "WEBP", quality=STILL_QUALITY, method=6)
        shown = _shown(self.frames)
        pictures = [_picture(frame) for frame, _ in shown]
        for quality in QUALITIES:
            written = io.BytesIO()
            durations = [round(1000 * seconds) for _, seconds in shown]
            options: dict[str, Any] = {"quality": quality, "method": 4, "minimize_size": True, "loop": 0}
            pictures[0].save(written, "WEBP", save_all=True, append_images=pictures[1:], duration=durations, **options)
            if written.tell() <= MAX_BYTES:
                file.write_bytes(written.getvalue())
                seconds = sum(durations) / 1000
                sys.stdout.write(f"{file.name}: {len(pictures)} frames, {seconds:.1f} s, {written.tell() // 1000} kB, quality {quality}\n")
                return
        raise ValueError(f"the film has {written.tell()} bytes in the lowest quality")


def _shown(frames: list[Frame]) -> list[tuple[Frame, float]]:
    """The frames that are shown, and for how long each: none longer than LONGEST, all of them SECONDS at most."""
    ends = [*(frame.at for frame in frames[1:]), frames[-1].at + 2 * LONGEST]
    lengths = [min(end - frame.at, LONGEST) for frame, end in zip(frames, ends, strict=True)]
    lengths[-1] = 2 * LONGEST
    pace = min(1.0, SECONDS / sum(lengths))
    shown: list[tuple[Frame, float]] = []
    for frame, length in zip(frames, lengths, strict=True):
        if shown and shown[-1][1] < 1 / FRAMES_PER_SECOND:
            shown[-1] = frame, shown[-1][1] + length * pace
        else:
            shown.append((frame, length * pace))
    return shown


def _picture(frame: Frame) -> Image.Image:
    page = Image.open(io.BytesIO(frame.jpeg)).convert("RGB")
    page = page.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)  # a page that changes is painted in other sizes, too
    whole = Image.new("RGB", (WIDTH, HEIGHT + STRIP), "#14202e")
    whole.paste(page)
    ImageDraw.Draw(whole).text((WIDTH / 2, HEIGHT + STRIP / 2), frame.said, "#ffffff", ImageFont.truetype(FONT, 19), anchor="mm")
    return whole
