"""A program that ends when the process which started it does."""

import os
import subprocess
import sys
from pathlib import Path

from tandem_fleet.gateway import bound_process

LAUNCHER = [sys.executable, "-I", str(Path(bound_process.__file__))]


def test_it_becomes_the_program() -> None:
    done = subprocess.run([*LAUNCHER, str(os.getpid()), "/bin/sh", "-c", "echo $0; exit 7", "x"], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (7, b"x\n")


def test_it_does_not_start_what_nobody_would_end() -> None:
    done = subprocess.run([*LAUNCHER, "1", "/bin/sh", "-c", "echo started"], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
