"""How a piece of code ended, and what it put out."""

from dataclasses import dataclass
from typing import Any, Literal

from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.spawn.pipes import Capture
from sandbox_server.drivers.spawn.process import Exit

LATE_CODE = 124
"""What stands for an exit code after a timeout, as with timeout(1)."""
UNSEEN_CODE = 255
"""What stands for an exit code that nobody saw; a note says so."""
SIGNALLED = 128
"""Added to a signal's number, as shells do."""

MAX_WORDS = 10_000
"""Characters of an exception's text, or of a line of its stack."""
MAX_LINES = 200
"""Lines of a stack."""

type Status = Literal["ok", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception: its class, its text and its stack."""

    name: str
    text: str
    stack: list[str]


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What became of it. `notes` are sentences for the caller."""

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
    """Bytes of output that were over the limit."""


def thrown(error: Any) -> Thrown | None:
    """Read an exception as the agent's side tells it, as far as that is of a reasonable length; None where it tells none."""
    if not isinstance(error, dict):
        return None
    stack = error.get("stack")
    lines = stack[:MAX_LINES] if isinstance(stack, list) else []
    return Thrown(_words(error.get("name")), _words(error.get("message")), [_words(line) for line in lines])


def _words(value: object) -> str:
    """A text of it; of a list or an object only that it is one, as its own text may be deep."""
    return type(value).__name__ if isinstance(value, dict | list) else str(value)[:MAX_WORDS]


def text(capture: Capture) -> str:
    """What a stream held, as far as it was kept."""
    return capture.bytes().decode("utf-8", "replace")


def left_out(dropped: int) -> tuple[str, ...]:
    """Say how much was not kept."""
    return (f"{dropped} bytes of output were over the limit and were not kept",) if dropped else ()


def exit_code(observed: Exit) -> int:
    """The code that a shell would show for it."""
    if observed.code is not None:
        return observed.code
    return SIGNALLED + observed.signal if observed.signal else UNSEEN_CODE


def count_of(line: JsonLine) -> int | None:
    """How many pieces a session has run."""
    count = line.get("count")
    return count if isinstance(count, int) else None
