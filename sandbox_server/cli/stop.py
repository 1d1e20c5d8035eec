"""The end of a command line: its exit code and message."""

from dataclasses import dataclass

OK, FAILED, USAGE, UNREACHABLE = range(4)
"""Exit codes."""


@dataclass
class Stop(Exception):
    """End with this exit code and sentence."""

    code: int
    sentence: str
