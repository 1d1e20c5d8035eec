"""The desktop's variables; a section of `settings`. Stdlib only, for the sake of boot."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, integer, variable


@dataclass(frozen=True, slots=True)
class DisplaySettings:
    """The desktop's display"""

    width: int = variable("DISPLAY_WIDTH", integer(64, 3840), 1280, "Width of the screen in pixels.", inherited=True)
    height: int = variable("DISPLAY_HEIGHT", integer(64, 2160), 1024, "Height of the screen in pixels.", inherited=True)
    depth: int = variable("DISPLAY_DEPTH", integer(24, 24), 24, "Bits of a pixel's colour. Only 24 is supported.", inherited=True)
    trust_shells: bool = variable(
        "X_TRUST_SHELLS",
        BOOLEAN,
        False,
        "Let programs that the agent starts act on and watch all windows, not just show their own.",
        inherited=True,
    )
    name: str = ":99"
    """The DISPLAY of X clients."""

    @property
    def socket(self) -> str:
        """The X server's socket."""
        return f"/tmp/.X11-unix/X{self.name.removeprefix(':')}"

    @property
    def local_socket(self) -> str:
        """A link to it, by whose name Chromium takes the X server for one on localhost and shares memory with it.

        Given a path, Chromium takes it for a host's name (`ShouldUseMitShm` in its ui/base/x/x11_shm_image_pool.cc).
        """
        return f"{self.socket}.localhost"
