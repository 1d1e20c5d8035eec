"""Who drives: a section of `settings`. Stdlib only, for the sake of boot."""

from dataclasses import dataclass
from typing import Literal

from sandbox_server.settings.kinds import BOOLEAN, choice, seconds, variable


@dataclass(frozen=True, slots=True)
class Control:
    """Who drives"""

    take: Literal["implicit", "click", "ask"] = variable(
        "CONTROL_TAKE",
        choice("implicit", "click", "ask"),
        "implicit",
        "How a person takes control from the agent: by the first key or click, by a button, or by asking the agent, "
        "which has `CONTROL_REQUEST_SECONDS` to finish.",
    )
    idle: float = variable(
        "CONTROL_IDLE_SECONDS", seconds(5, 86400), 600.0, "After so long without the person's input the agent has control again."
    )
    countdown: float = variable("CONTROL_COUNTDOWN_SECONDS", seconds(0, 3600), 30.0, "So long before that the person is told.")
    cap: float = variable("CONTROL_MAX_SECONDS", seconds(10, 604800), 3600.0, "The longest that a person holds control, or a freeze lasts.")
    lost: float = variable("CONTROL_LOST_SECONDS", seconds(1, 3600), 30.0, "After the person's page is closed or lost.")
    request: float = variable("CONTROL_REQUEST_SECONDS", seconds(1, 3600), 60.0, "How long a request for control waits for an answer.")
    private_focus: bool = variable(
        "PRIVATE_FOCUS",
        BOOLEAN,
        True,
        "Whether a person who drives is private as soon as a field for a password or a one-time code has the focus.",
    )
    private_handoff: bool = variable(
        "PRIVATE_HANDOFF",
        BOOLEAN,
        True,
        "Whether a person who does what a request of the kind login, otp or payment asks is private from the start.",
    )
