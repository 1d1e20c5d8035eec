"""Becomes another program that ends when the process which started it does, however that ended.

`python -m tandem_fleet.gateway.bound_process PARENT PROGRAM ARGUMENTS...`
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def run(words: list[str]) -> None:
    """Become the program, unless the parent with this number is gone already. Linux alone can tell; elsewhere it may outlive the parent."""
    parent, program = int(words[0]), words[1]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == parent:
        os.execv(program, words[1:])


if __name__ == "__main__":
    run(sys.argv[1:])
