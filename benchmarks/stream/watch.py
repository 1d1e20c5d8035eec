"""Watches a viewer as a person sees it, on X servers of its own, whose pixels are read from memory: a Chromium, or what else is there.

Runs in a container beside the product. Reads commands as JSON lines, answers each with one: open, take, leave, close, click, follow, keep,
compare, picture, strip. The wide screen has room for a page around the desktop, the tight one is as large as the desktop: for pages and
viewers that scale.
"""

import itertools
import json
import mmap
import os
import pathlib
import random
import struct
import subprocess
import sys
import time
from typing import Any

import likeness
import numpy as np
import scenes
from Xlib import display as xlib
from Xlib.ext import xtest

WIDE, TIGHT = (":90", 1400, 1200), (":91", scenes.SCREEN[0] + 1, scenes.SCREEN[1] + 1)
"""Chromium leaves a pixel of the screen free where there is no window manager."""
POLL_SECONDS = 0.0007
OPEN_SECONDS = 40.0
NEAR = 70
"""How far a colour may be from the mark's: video is not exact."""
PICTURES = 12
"""So many at most are held against the scene's own."""
BEHIND = 16
"""So many numbers may the page beside a video be behind the video: how sharp it is, not how late, is what its likeness says."""
CLICK_AFTER_SECONDS = 2.0
SMALL = (480, 384)
MOTION, PRESS, RELEASE = 6, 4, 5
KINDS = {
    "video": (scenes.VIDEO, likeness.of_brightness),
    "scroll": (scenes.PAGE, likeness.of_colours),
    "beside": (scenes.BESIDE_PAGE, likeness.of_colours),
}


class Screen:
    """A viewer's screen, as an array of rows, columns and blue, green, red, unused."""

    def __init__(self, name: str, width: int, height: int) -> None:
        folder = f"/tmp/watch{name}"
        os.makedirs(folder, exist_ok=True)
        argv = ["Xvfb", name, "-screen", "0", f"{width}x{height}x24", "-fbdir", folder, "-noreset", "-nolisten", "tcp"]
        path, socket = f"{folder}/Xvfb_screen0", f"/tmp/.X11-unix/X{name[1:]}"
        for left in (path, socket):
            pathlib.Path(left).unlink(missing_ok=True)
        self.server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        while not os.path.exists(socket):
            time.sleep(0.05)
        self.display = xlib.Display(name)  # answers once its screen is there
        with open(path, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        head = struct.unpack(">25I", memory[:100])
        pixels = np.frombuffer(memory, np.uint8, offset=head[0] + head[19] * 12, count=head[12] * height)
        self.pixels = pixels.reshape(height, head[12])[:, : width * 4].reshape(height, width, 4)
        self.name, self.width, self.height = name, width, height

    def find(self) -> tuple[int, int] | None:
        """Where the watched screen's top left is, by its mark: the middle of where all its cells are seen at their distances."""
        blue, green, red = (self.pixels[:, :, plane] for plane in range(3))
        rows, columns = np.nonzero((green < NEAR) & (blue > 255 - NEAR) & (red > 255 - NEAR))
        for number, mark in enumerate(scenes.MARK[1:], 1):
            inside = columns + number * scenes.CELL < self.width
            rows, columns = rows[inside], columns[inside]
            cells = self.pixels[rows, columns + number * scenes.CELL, 2::-1].astype(int)
            alike = np.abs(cells - mark).max(axis=1) < NEAR if len(cells) else np.zeros(0, bool)
            rows, columns = rows[alike], columns[alike]
        if len(rows) < scenes.CELL**2 / 2:
            return None
        middle = (scenes.CELL - 1) / 2
        x, y = round(float(np.median(columns)) - middle), round(float(np.median(rows)) - middle)
        return max(0, min(x, self.width - scenes.SCREEN[0])), max(0, min(y, self.height - scenes.SCREEN[1]))

    def point(self, x: int, y: int) -> None:
        """Move the pointer."""
        xtest.fake_input(self.display, MOTION, x=x, y=y)
        self.display.sync()

    def click(self) -> None:
        """Press and release the first button."""
        for kind in (PRESS, RELEASE):
            xtest.fake_input(self.display, kind, 1)
        self.display.flush()


class Watch:
    """One viewer at a time."""

    def __init__(self) -> None:
        self.screens = {True: Screen(*TIGHT), False: Screen(*WIDE)}
        self.screen = self.screens[False]
        self.browser: subprocess.Popen[bytes] | None = None
        self.at = (0, 0)
        self.kept: Any = None
        self.pictures: dict[str, list[Any]] = {}

    def open(self, url: str = "", origin: str = "", tight: bool = False) -> dict[str, Any]:
        """Open a page, if one is named, and wait until the desktop is seen."""
        self.screen, start = self.screens[tight], time.monotonic()
        if url:
            self._browse(url, origin)
        while (found := self.screen.find()) is None:
            if time.monotonic() > start + OPEN_SECONDS:
                return {"error": "the desktop is not seen"}
            time.sleep(0.1)
        self.at = found
        return {"at": found, "seconds": time.monotonic() - start}

    def _browse(self, url: str, origin: str) -> None:
        argv = ["chromium", "--no-sandbox", "--disable-gpu", f"--user-data-dir=/tmp/profile-{random.randrange(1 << 30)}", "--kiosk"]
        argv += [f"--window-size={self.screen.width},{self.screen.height}", "--window-position=0,0", "--no-first-run", "--disable-sync"]
        argv += [f"--unsafely-treat-insecure-origin-as-secure={origin}", "--autoplay-policy=no-user-gesture-required", "--test-type", url]
        env = os.environ | {"DISPLAY": self.screen.name}
        self.browser = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def take(self) -> dict[str, Any]:
        """Click, and so take control: until then the viewer only watches."""
        self.screen.point(self.at[0] + 640, self.at[1] + 900)
        self.screen.click()
        return self.leave()

    def leave(self) -> dict[str, Any]:
        """Move the pointer into the corner, where it covers nothing that is compared."""
        self.screen.point(self.at[0] + scenes.SCREEN[0] - 1, self.at[1] + scenes.SCREEN[1] - 1)
        return {}

    def close(self) -> dict[str, Any]:
        """Close the page."""
        if self.browser:
            self.browser.terminate()
            self.browser.wait()
            self.browser = None
        return {}

    def click(self, times: int) -> dict[str, Any]:
        """Click the target so often; milliseconds from each click until its colour is seen to change."""
        x, y = self.at[0] + scenes.TARGET[0] + 60, self.at[1] + scenes.TARGET[1] + 60
        look = (self.at[1] + scenes.TARGET[1] + 180, self.at[0] + scenes.TARGET[0] + 180, 1)
        chance, taken, missed = random.Random(3), [], 0
        self.screen.point(x, y)
        time.sleep(CLICK_AFTER_SECONDS)
        for _ in range(times):
            before, start = int(self.screen.pixels[look]), time.monotonic()
            self.screen.click()
            while abs(int(self.screen.pixels[look]) - before) < 60 and time.monotonic() < start + 2:
                time.sleep(0.0003)
            if time.monotonic() < start + 2:
                taken.append((time.monotonic() - start) * 1000)
            else:
                missed += 1
            time.sleep(0.25 + chance.random() * 0.2)
        self.leave()
        return {"ms": taken, "missed": missed}

    def follow(self, seconds: float, rate: float, pictures: str = "") -> dict[str, Any]:
        """Follow the numbers of pictures: how many are late, how many never seen; with `pictures` how like the scene's own they are."""
        seen: list[tuple[float, int]] = []
        keep: list[tuple[int, Any]] = []
        last, start = self._number(), time.monotonic()
        kept = start
        while (now := time.monotonic()) < start + seconds:
            number = self._number()
            if number != last:
                seen.append((now, number))
                last = number
                if pictures and now - kept > seconds / PICTURES:
                    kept = now
                    keep.append((number, self._shown(KINDS[pictures][0]).copy()))
            time.sleep(POLL_SECONDS)
        gaps = [b[0] - a[0] for a, b in itertools.pairwise(seen)]
        shown = (seen[-1][1] - seen[0][1]) % 65536 if len(seen) > 1 else 0
        result = {
            "late": sum(gap > 1.5 / rate for gap in gaps) / len(gaps) if gaps else 1.0,
            "fps": len(seen) / seconds,
            "missed": 1 - len(gaps) / shown if shown else 1.0,
            "longest": max(gaps, default=seconds),
        }
        return result | ({"ssim": float(np.median([likest(pictures, *one) for one in keep]))} if keep else {})

    def keep(self) -> dict[str, Any]:
        """Keep what is seen now, to compare it."""
        self.kept = self._shown((0, 0, *scenes.SCREEN)).copy()
        return {}

    def compare(self, kind: str) -> dict[str, Any]:
        """How like what was kept is to /tmp/truth, where that kind of scene is, and the part of pixels that are equal."""
        area, like = KINDS.get(kind, (scenes.PAGE, likeness.of_colours))
        with open("/tmp/truth", "rb") as file:
            truth = np.frombuffer(file.read(), np.uint8).reshape(scenes.SCREEN[1], scenes.SCREEN[0], 4)[:, :, 2::-1]
        shown, own = (cut(picture, area) for picture in (self.kept, truth))
        return {"ssim": like(shown, own), "equal": float(np.all(shown == own, axis=2).mean())}

    def picture(self, name: str) -> dict[str, Any]:
        """Take a picture of the desktop as it is seen, for a strip, small."""
        shown = scenes.Image.fromarray(np.ascontiguousarray(self._shown((0, 0, *scenes.SCREEN))))
        self.pictures.setdefault(name, []).append(shown.resize(SMALL, scenes.Image.Resampling.LANCZOS))
        return {"number": self._number()}

    def strip(self, path: str) -> dict[str, Any]:
        """Save the pictures that were taken: a row for each name."""
        columns = max(map(len, self.pictures.values()))
        strip = scenes.Image.new("RGB", (columns * (SMALL[0] + 8), len(self.pictures) * (SMALL[1] + 28)), "white")
        draw = scenes.ImageDraw.Draw(strip)
        for row, (name, pictures) in enumerate(self.pictures.items()):
            draw.text((4, row * (SMALL[1] + 28) + 4), name, fill="black", font_size=16)
            for column, picture in enumerate(pictures):
                strip.paste(picture, (column * (SMALL[0] + 8), row * (SMALL[1] + 28) + 24))
        strip.save(path, quality=70, method=6)
        return {}

    def _shown(self, area: tuple[int, int, int, int]) -> Any:
        return cut(self.screen.pixels[self.at[1] :, self.at[0] :, 2::-1], area)

    def _number(self) -> int:
        row = self.at[1] + scenes.CODE_AT[1] + scenes.CELL // 2
        first = self.at[0] + scenes.CODE_AT[0] + scenes.CELL // 2
        gray = 0
        for bit in range(scenes.CODE_BITS):
            gray |= int(self.screen.pixels[row, first + bit * scenes.CELL, 1] > 127) << bit
        number = gray
        for shift in (1, 2, 4, 8):
            number ^= number >> shift
        return number


def cut(picture: Any, area: tuple[int, int, int, int]) -> Any:
    """A part of a picture: its left, top, width and height."""
    x, y, width, height = area
    return picture[y : y + height, x : x + width]


def own(kind: str, number: int) -> Any:
    """The scene's picture of that number."""
    if kind == "video":
        return np.asarray(scenes.video(number % scenes.VIDEO_FRAMES))
    return np.asarray(scenes.scrolled(number) if kind == "scroll" else scenes.scrolled((number - 1) // 2, scenes.BESIDE_PAGE[2]))


def likest(kind: str, number: int, shown: Any) -> float:
    """How like what is shown is to the scene's picture of that number, or to the one before or after.

    Not every way of showing draws a picture and its number at once.
    """
    near = range(number - BEHIND, number + 2, 2) if kind == "beside" else range(number - 1, number + 2)
    return max(float(KINDS[kind][1](shown, own(kind, at))) for at in near)


def main() -> None:
    """Do what is asked until nothing more is."""
    watch = Watch()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = getattr(watch, asked.pop("do"))(**asked)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
