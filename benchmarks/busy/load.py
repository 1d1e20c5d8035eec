"""What keeps the computer busy, as a program of the agent's: `load.py loops|stress FOLDER`, standard library only.

`loops` are eight that count; each writes how far it is into a file of the folder. `stress` are two that touch fresh memory, two that
write to disk and wait for it, and two that count.
"""

import mmap
import os
import sys
from collections.abc import Callable

STEP = 100_000
MEMORY = 512 << 20
FILE = 32 << 20
PAGE = 4096


def count(path: str) -> None:
    """Count, and write how far."""
    done, file = 0, os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    while True:
        for _ in range(STEP):
            done += 1
        os.pwrite(file, b"%d " % done, 0)


def touch(path: str) -> None:
    """Take memory, write to each page, and give it back."""
    del path
    while True:
        with mmap.mmap(-1, MEMORY) as memory:
            for at in range(0, MEMORY, PAGE):
                memory[at] = 1


def write(path: str) -> None:
    """Write a file and wait until the disk has it, again and again."""
    content = os.urandom(1 << 20)
    while True:
        with open(path, "wb", buffering=0) as file:
            file.writelines(content for _ in range(FILE >> 20))
            os.fsync(file.fileno())
        os.unlink(path)


LOADS: dict[str, list[Callable[[str], None]]] = {"loops": [count] * 8, "stress": [touch, touch, write, write, count, count]}


def main() -> None:
    """Run them until somebody ends them."""
    folder = sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    for number, work in enumerate(LOADS[sys.argv[1]]):
        if os.fork() == 0:
            work(f"{folder}/{work.__name__}.{number}")
    os.wait()


main()
