"""The control lease: a section of `settings`. Standard library only, because boot imports it."""

from dataclasses import dataclass
from typing import Literal

from sandbox_server.settings.kinds import BOOLEAN, choice, seconds, variable


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Control"""

    take: Literal["implicit", "click", "ask"] = variable(
        "CONTROL_TAKE",
        choice("implicit", "click", "ask"),
        "implicit",
        "How a person takes control: by the first key or click, by a button, or by asking the agent, which has "
        "`CONTROL_REQUEST_SECONDS` to finish.",
    )
    idle: float = variable(
        "CONTROL_IDLE_SECONDS", seconds(5, 86400), 600.0, "Control returns to the agent after this time without the person's input."
    )
    countdown: float = variable("CONTROL_COUNTDOWN_SECONDS", seconds(0, 3600), 30.0, "Warn the person this long before that.")
    cap: float = variable("CONTROL_MAX_SECONDS", seconds(10, 604800), 3600.0, "The longest that a person holds control, or a freeze lasts.")
    lost: float = variable(
        "CONTROL_LOST_SECONDS", seconds(1, 3600), 30.0, "Control returns this long after the person's last page is closed or lost."
    )
    request: float = variable("CONTROL_REQUEST_SECONDS", seconds(1, 3600), 60.0, "How long a request for control waits for an answer.")
    private_focus: bool = variable(
        "PRIVATE_FOCUS",
        BOOLEAN,
        True,
        "Start private mode when a person drives and a password or one-time code field gets the focus.",
    )
    private_handoff: bool = variable(
        "PRIVATE_HANDOFF",
        BOOLEAN,
        True,
        "Start private mode when a person takes on a request of the kind login, otp or payment.",
    )
