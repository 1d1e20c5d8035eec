"""Times for people: seconds since the epoch as a date, by the name of their field."""

import time
from typing import Any

EARLIEST, LATEST = 1_000_000_000, 4_000_000_000
"""What is taken for a time: the years 2001 to 2096. Less is a duration."""
NAMES = frozenset({"at", "time", "created", "started", "ended", "expires", "modified", "seen", "since", "until"})
"""The last words of the names of fields that hold a time."""


def shown(name: str, value: Any) -> Any:
    """Return a value, and one that is a time as text, in this machine's zone."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not EARLIEST <= value < LATEST
        or name.rpartition("_")[2] not in NAMES
    ):
        return value
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(value))


def with_times(data: Any, name: str = "") -> Any:
    """Return data with every time in it as text."""
    if isinstance(data, dict):
        return {key: with_times(value, key) for key, value in data.items()}
    if isinstance(data, list):
        return [with_times(item, name) for item in data]
    return shown(name, data)
