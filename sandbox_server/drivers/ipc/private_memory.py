"""Anonymous memory (memfd_create(2)) that no other user opens again by /proc/PID/fd, which gVisor shows to everybody."""

import os


def create(name: str) -> int:
    """Return the descriptor of empty memory, which a program that is executed does not inherit."""
    fd = os.memfd_create(name)
    os.fchmod(fd, 0o600)
    return fd
