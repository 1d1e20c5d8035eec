"""The outcome of a piece of code, and its output."""

from dataclasses import dataclass
from typing import Any, Literal

from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.spawn.pipes import Capture
from sandbox_server.drivers.spawn.process import Exit

LATE_CODE = 124
"""The exit code after a timeout, as with timeout(1)."""
UNSEEN_CODE = 255
"""The exit code if the end was not observed; a note says so."""
SIGNALLED = 128
"""Added to a signal's number, as shells do."""

MAX_WORDS = 10_000
"""Limit of characters of an exception's text, or of a line of its stack."""
MAX_LINES = 200
"""Limit of lines of a stack."""

type Status = Literal["ok", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception: its class, its text and its stack."""

    name: str
    text: str
    stack: list[str]


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """The outcome. `notes` are sentences for the caller."""

    status: Status
    exit_code: int
    stdout: str
    stderr: str
    thrown: Thrown | None = None
    result: str | None = None
    """The last expression's value, as `util.inspect` shows it."""
    count: int | None = None
    notes: tuple[str, ...] = ()
    dropped: int = 0
    """Bytes of output over the limit, which are lost."""


def thrown(error: Any) -> Thrown | None:
    """Parse and shorten an exception reported by the agent's process; None if there is none."""
    if not isinstance(error, dict):
        return None
    stack = error.get("stack")
    lines = stack[:MAX_LINES] if isinstance(stack, list) else []
    return Thrown(_words(error.get("name")), _words(error.get("message")), [_words(line) for line in lines])


def _words(value: object) -> str:
    """Return a value as text. A list or object is only named, because it may be deeply nested."""
    return type(value).__name__ if isinstance(value, dict | list) else str(value)[:MAX_WORDS]


def text(capture: Capture) -> str:
    """Return the kept text of a stream."""
    return capture.bytes().decode("utf-8", "replace")


def left_out(dropped: int) -> tuple[str, ...]:
    """Return notes about dropped output."""
    return (f"{dropped} bytes of output were over the limit and were not kept",) if dropped else ()


def exit_code(observed: Exit) -> int:
    """Return the exit code that a shell would show."""
    if observed.code is not None:
        return observed.code
    return SIGNALLED + observed.signal if observed.signal else UNSEEN_CODE


def count_of(line: JsonLine) -> int | None:
    """Return the number of executions of a session."""
    count = line.get("count")
    return count if isinstance(count, int) else None
