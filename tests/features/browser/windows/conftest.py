"""A real desktop with openbox, and bash over a real spawner."""

from tests.drivers.x11.conftest import desktop, window_manager, xserver
from tests.features.bash.conftest import bash

__all__ = ["bash", "desktop", "window_manager", "xserver"]
