"""What is written down and filmed of what happens: a section of `settings`. Stdlib only, for the sake of boot."""

from dataclasses import dataclass

from sandbox_server.variables import BOOLEAN, integer, variable


@dataclass(frozen=True, slots=True)
class Recorder:
    """The flight recorder"""

    on: bool = variable("RECORDER", BOOLEAN, True, "Whether it is written down who did what. A volume at `/run/sandbox-recorder` keeps it.")
    max_bytes: int = variable("RECORDER_MAX_BYTES", integer(1 << 20, 1 << 40), 64 << 20, "Bytes that the events may take; the oldest go.")
