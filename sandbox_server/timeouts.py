"""The seconds that the product waits for its own parts: of each constant, times the setting `TIMEOUT_FACTOR`.

Standard library only, because every package imports it. A process reads the factor once, from its own environment, and what
forks from it has the same one. `settings` refuses a bad value when the container starts, so one that is found here means 1.
"""

import os

VARIABLE = "TIMEOUT_FACTOR"
MAX_FACTOR = 20.0


def read_factor(text: str) -> float:
    """Read a factor from 1 to MAX_FACTOR. Raises ValueError."""
    try:
        factor = float(text)
    except ValueError:
        raise ValueError(f"must be a number from 1 to {MAX_FACTOR:g}") from None
    if not 1 <= factor <= MAX_FACTOR:
        raise ValueError(f"must be from 1 to {MAX_FACTOR:g}")
    return factor


def _given() -> float:
    try:
        return read_factor(os.environ.get(VARIABLE, ""))
    except ValueError:
        return 1.0


FACTOR = _given()
"""What this process was given."""
ENVIRONMENT = {VARIABLE: f"{FACTOR:g}"} if FACTOR > 1 else {}
"""What boot adds to the environment of the product's own processes. Those of the agent do not get it."""


def scaled(seconds: float) -> float:
    """Return the seconds times the factor: for how long an own part is waited for, which a slow machine needs longer."""
    return seconds * FACTOR
