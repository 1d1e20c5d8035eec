"""Whether the kernel is gVisor's, which lacks some of what Linux has. Only the standard library: the spawner asks."""

_VERSION = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"
"""What gVisor calls its kernel, whatever the host's is."""


def is_gvisor(proc: str = "/proc") -> bool:
    """Read it from /proc/version."""
    try:
        with open(f"{proc}/version", encoding="utf-8", errors="replace") as file:
            return file.read(4096).startswith(_VERSION)
    except OSError:
        return False
