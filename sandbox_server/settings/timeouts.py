"""How long the product waits for its own parts: a section of `settings`. Standard library only, because boot imports it."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import Kind, variable
from sandbox_server.timeouts import VARIABLE, read_factor

FACTOR = Kind("factor", read_factor)


@dataclass(frozen=True, slots=True)
class TimeoutsSettings:
    """Slow machines"""

    factor: float = variable(
        VARIABLE,
        FACTOR,
        1.0,
        "What waits of the sandbox for its own parts are multiplied by, from 1 to 20: "
        "for slow hosts, gVisor, nested virtualisation. What a request names stays.",
    )
