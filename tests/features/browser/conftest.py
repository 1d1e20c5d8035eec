"""A desktop to act on, with a program on it."""

from tests.drivers.x11.conftest import desktop, program, window_manager, xserver

__all__ = ["desktop", "program", "window_manager", "xserver"]
