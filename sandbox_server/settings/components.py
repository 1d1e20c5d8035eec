"""Settings of the components: what is disabled, and what this image does not include."""

import os
from dataclasses import dataclass

from sandbox_server.settings.kinds import Kind, boolean, variable

X_SERVER = "/usr/bin/Xvfb"
"""Without it the image has no desktop: the variant `core` is built so."""


def _read_disabled(text: str) -> frozenset[str]:
    """Read `NAME=value` lines, as `load` gives them for a prefix variable."""
    pairs = (line.partition("=") for line in text.splitlines())
    return frozenset(name.lower().replace("_", "-") for name, _, value in pairs if value and boolean(value))


DISABLED = Kind("boolean", _read_disabled)


@dataclass(frozen=True, slots=True)
class Absence:
    """Why something is not here, and what would bring it."""

    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class ComponentsSettings:
    """Components"""

    disabled: frozenset[str] = variable(
        "DISABLE_*",
        DISABLED,
        frozenset(),
        "`DISABLE_<COMPONENT>=true` leaves that component out, as in `DISABLE_MCP=true`.",
    )

    @property
    def left_out(self) -> frozenset[str]:
        """What was disabled or is not in the image, and what has no use without it."""
        return self.disabled | ({"browser", "desktop", "sound", "stream", "vnc"} if self.desktop_absence else set())

    @property
    def desktop_absence(self) -> Absence | None:
        """Why there is neither a desktop nor a browser; None if there is a desktop."""
        if not os.path.exists(X_SERVER):
            return Absence("this image has no desktop and no browser", "use the variant `browser` or `full` of the image")
        if "desktop" in self.disabled:
            return Absence("the desktop was left out, and the browser with it", "unset DISABLE_DESKTOP")
        return None
