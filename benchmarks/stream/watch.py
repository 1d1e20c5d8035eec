"""Watches a viewer as a person sees it: a Chromium on an X server of its own, whose pixels are read from memory.

Runs in a container beside the product. Reads commands as JSON lines, answers each with one: open, take, close, click, follow, picture.
"""

import itertools
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scenes
from Xlib import display as xlib
from Xlib.ext import xtest

WIDTH, HEIGHT = 1400, 1200
DISPLAY = ":90"
FOLDER = "/tmp/watch"
POLL_SECONDS = 0.0007
OPEN_SECONDS = 40.0


class Screen:
    """The viewer's screen, as an array of rows, columns and blue, green, red, unused."""

    def __init__(self) -> None:
        os.makedirs(FOLDER, exist_ok=True)
        argv = ["Xvfb", DISPLAY, "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-fbdir", FOLDER, "-noreset", "-nolisten", "tcp"]
        self.server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        path = f"{FOLDER}/Xvfb_screen0"
        while not (os.path.exists(path) and os.path.getsize(path) > WIDTH * HEIGHT * 4 and os.path.exists("/tmp/.X11-unix/X90")):
            time.sleep(0.05)
        with open(path, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        head = struct.unpack(">25I", memory[:100])
        pixels = np.frombuffer(memory, np.uint8, offset=head[0] + head[19] * 12, count=head[12] * HEIGHT)
        self.pixels = pixels.reshape(HEIGHT, head[12])[:, : WIDTH * 4].reshape(HEIGHT, WIDTH, 4)
        self.display = xlib.Display(DISPLAY)

    def find(self) -> tuple[int, int] | None:
        """Where the watched screen's top left is, by its mark."""
        middle = scenes.CELL // 2
        first = np.all(self.pixels[:, :, :3] == scenes.MARK[0][::-1], axis=2)
        for y, x in np.argwhere(first & ~np.roll(first, 1, axis=1) & ~np.roll(first, 1, axis=0)):
            cells = [self.pixels[min(y + middle, HEIGHT - 1), min(x + middle + n * scenes.CELL, WIDTH - 1), 2::-1] for n in range(4)]
            if all(tuple(int(v) for v in cell) == mark for cell, mark in zip(cells, scenes.MARK, strict=True)):
                return int(x), int(y)
        return None


class Watch:
    """One viewer at a time."""

    def __init__(self) -> None:
        self.screen = Screen()
        self.browser: subprocess.Popen[bytes] | None = None
        self.at = (0, 0)

    def open(self, url: str, origin: str) -> dict[str, Any]:
        """Open a page and wait until the desktop is seen on it."""
        profile = f"/tmp/profile-{random.randrange(1 << 30)}"
        argv = ["chromium", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--kiosk", "--no-first-run", "--disable-sync"]
        argv += [
            f"--window-size={WIDTH},{HEIGHT}",
            "--window-position=0,0",
            f"--unsafely-treat-insecure-origin-as-secure={origin}",
            "--test-type",
        ]
        self.browser = subprocess.Popen(
            [*argv, url], env=os.environ | {"DISPLAY": DISPLAY}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        start = time.monotonic()
        while (found := self.screen.find()) is None:
            if time.monotonic() > start + OPEN_SECONDS:
                return {"error": "the desktop is not seen"}
            time.sleep(0.1)
        self.at = found
        return {"at": found, "seconds": time.monotonic() - start}

    def take(self) -> dict[str, Any]:
        """Click, and so take control: until then the viewer only watches."""
        xtest.fake_input(self.screen.display, 6, x=self.at[0] + 640, y=self.at[1] + 900)
        for kind in (4, 5):
            xtest.fake_input(self.screen.display, kind, 1)
        self.screen.display.sync()
        return {}

    def close(self) -> dict[str, Any]:
        """Close the page."""
        if self.browser:
            self.browser.terminate()
            self.browser.wait()
        self.screen.pixels  # noqa: B018 - the screen itself stays
        return {}

    def click(self, times: int) -> dict[str, Any]:
        """Click the target so often; milliseconds from each click until its colour is seen to change."""
        x, y = self.at[0] + scenes.TARGET[0] + 60, self.at[1] + scenes.TARGET[1] + 60
        look = (self.at[1] + scenes.TARGET[1] + 180, self.at[0] + scenes.TARGET[0] + 180, 1)
        chance, taken, missed = random.Random(3), [], 0
        xtest.fake_input(self.screen.display, 6, x=x, y=y)
        self.screen.display.sync()
        time.sleep(1)
        for _ in range(times):
            before, start = int(self.screen.pixels[look]), time.monotonic()
            for kind in (4, 5):
                xtest.fake_input(self.screen.display, kind, 1)
            self.screen.display.flush()
            while abs(int(self.screen.pixels[look]) - before) < 60 and time.monotonic() < start + 2:
                time.sleep(0.0003)
            if time.monotonic() < start + 2:
                taken.append((time.monotonic() - start) * 1000)
            else:
                missed += 1
            time.sleep(0.25 + chance.random() * 0.2)
        return {"ms": taken, "missed": missed}

    def follow(self, seconds: float, rate: float, pictures: str = "") -> dict[str, Any]:
        """Follow the numbers of pictures: how many are late, how many never seen; with `pictures` how like the film's own they are."""
        seen, likeness, last, start = [], [], self._number(), time.monotonic()
        keep: list[tuple[int, Any]] = []
        while (now := time.monotonic()) < start + seconds:
            number = self._number()
            if number != last:
                seen.append((now, number))
                last = number
                if pictures and len(seen) % 15 == 0:
                    keep.append((number, self._film().copy()))
            time.sleep(POLL_SECONDS)
        for number, shown in keep:
            likeness.append(ssim(luma(np.asarray(scenes.film(number))), luma(shown[:, :, ::-1])))
        gaps = [b[0] - a[0] for a, b in itertools.pairwise(seen)]
        shown = (seen[-1][1] - seen[0][1]) % 65536 if len(seen) > 1 else 0
        late = sum(gap > 1.5 / rate for gap in gaps) / len(gaps) if gaps else 1.0
        result = {
            "late": late,
            "fps": len(seen) / seconds,
            "missed": 1 - len(gaps) / shown if shown else 1.0,
            "longest": max(gaps, default=seconds),
        }
        return result | ({"ssim": float(np.median(likeness))} if likeness else {})

    def picture(self, path: str) -> dict[str, Any]:
        """Save what is seen."""
        scenes.Image.fromarray(np.ascontiguousarray(self.screen.pixels[:, :, 2::-1])).save(path)
        return {}

    def _film(self) -> Any:
        x, y, width, height = scenes.FILM
        return self.screen.pixels[self.at[1] + y : self.at[1] + y + height, self.at[0] + x : self.at[0] + x + width, :3]

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


def luma(rgb: Any) -> Any:
    """Brightness (BT.709)."""
    return rgb @ np.array([0.2126, 0.7152, 0.0722])


def ssim(one: Any, other: Any) -> float:
    """Structural similarity (Wang and others, 2004) in windows of 8x8 pixels."""

    def mean(values: Any) -> Any:
        height, width = (size // 8 * 8 for size in values.shape)
        return values[:height, :width].reshape(height // 8, 8, width // 8, 8).mean(axis=(1, 3))

    a, b = mean(one), mean(other)
    variance = mean(one * one) - a * a + mean(other * other) - b * b
    shared = mean(one * other) - a * b
    return float(np.mean((2 * a * b + 6.5025) * (2 * shared + 58.5225) / ((a * a + b * b + 6.5025) * (variance + 58.5225))))


def main() -> None:
    """Do what is asked until nothing more is."""
    watch = Watch()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = getattr(watch, asked.pop("do"))(**asked)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
