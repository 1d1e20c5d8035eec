"""A recording shows what it was given when it was given, and plays as far as its file goes."""

import math
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.video.mp4_writer import SOUND_RATE, STILL_SECONDS, Mp4Writer
from tests.drivers.video.mp4 import BLUE, GREEN, RED, Shown, colours, loudness, plain, shown, size, sound_seconds


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the recording goes."""
    return tmp_path / "recording.mp4"


@pytest.fixture
def descriptor(file: Path) -> Iterator[int]:
    """The recording's file, open."""
    opened = os.open(file, os.O_CREAT | os.O_RDWR)
    yield opened
    os.close(opened)


def tone(seconds: float) -> bytes:
    """A loud tone."""
    samples = (round(20000 * math.sin(2 * math.pi * 440 * n / SOUND_RATE)) for n in range(round(seconds * SOUND_RATE)))
    return b"".join(struct.pack("<hh", sample, sample) for sample in samples)


def test_pictures_are_shown_when_they_were_given(descriptor: int, file: Path) -> None:
    video = Mp4Writer(descriptor, (64, 48), fps=10, crf=20, sound=False)
    for at, colour in ((0.0, RED), (0.3, GREEN), (0.7, BLUE)):
        video.show(plain(colour), at)
    video.close(0.9)
    assert shown(file) == [Shown(0.0, "red"), Shown(0.3, "green"), Shown(0.7, "blue"), Shown(0.9, "blue")]
    assert video.pictures == 4


def test_a_picture_that_does_not_change_is_written_now_and_then(descriptor: int, file: Path) -> None:
    video = Mp4Writer(descriptor, (64, 48), fps=10, crf=20, sound=False)
    for tenth in range(25):
        video.show(plain(RED), tenth / 10)
    video.close(2.5)
    assert [each.at for each in shown(file)] == [0.0, STILL_SECONDS, 2 * STILL_SECONDS, 2.5]


def test_pictures_of_another_size_are_scaled(descriptor: int, file: Path) -> None:
    video = Mp4Writer(descriptor, (64, 48), fps=10, crf=20, sound=False)
    video.show(plain(RED), 0)
    video.show(plain(BLUE, (100, 21)), 0.5)
    video.close(1)
    assert (size(file), colours(file)) == ((64, 48), ["red", "blue"])


def test_a_film_that_was_never_closed_plays_up_to_its_last_second(descriptor: int, file: Path) -> None:
    video = Mp4Writer(descriptor, (64, 48), fps=10, crf=20, sound=True)
    for tenth in range(50):
        video.show(plain((RED, BLUE)[tenth % 2]), tenth / 10)
        video.play(tone(0.1), tenth / 10)
    left_behind = file.with_name("left-behind.mp4")
    left_behind.write_bytes(file.read_bytes())
    video.close(5)
    assert shown(left_behind)[-1].at >= 3.5
    assert sound_seconds(left_behind) >= 3.5


def test_sound_is_heard_when_it_was_played(descriptor: int, file: Path) -> None:
    video = Mp4Writer(descriptor, (64, 48), fps=10, crf=20, sound=True)
    video.show(plain(RED), 0)
    for tenth in range(20):
        video.play(tone(0.1) if tenth >= 10 else bytes(len(tone(0.1))), tenth / 10)
    video.close(2)
    heard = loudness(file)
    assert len(heard) * 1024 / SOUND_RATE == pytest.approx(2, abs=0.1)
    assert max(heard[: len(heard) // 2 - 3]) < 100
    assert min(heard[len(heard) // 2 + 3 : -3]) > 15000


def make(video: Mp4Writer) -> None:
    """Make a short recording to its end."""
    video.show(plain(RED), 0)
    video.close(0.1)


def test_a_full_disk_is_said() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OSError, match="No space left"):
        make(Mp4Writer(full, (64, 48), fps=10, crf=20, sound=False))
    os.close(full)


FORKED = """
import os, threading
from PIL import Image
from sandbox_server.drivers.video.mp4_writer import Mp4Writer

made, over = threading.Event(), threading.Event()

def make() -> None:
    video = Mp4Writer(os.open(os.devnull, os.O_WRONLY), (640, 480), fps=10, crf=20, sound=False)
    video.show(Image.new("RGB", (1280, 960)), 0.0)
    made.set()
    over.wait()

thread = threading.Thread(target=make)
thread.start()
made.wait()
child = os.fork()
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
"""


def test_a_process_that_makes_a_film_can_be_forked() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "7\n"
