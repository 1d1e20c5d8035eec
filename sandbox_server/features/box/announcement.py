"""What whoever watches is told of the box: who did what, and which programs that stopped."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox_server.core import Caller

NAMED = 5
"""Programs that are named."""

type Announce = Callable[[str, Caller, str], None]
"""Is called with what happened, who did it, and what there is to say of it."""


def announce_nothing(kind: str, caller: Caller, note: str) -> None:
    """Tell nobody."""


def told_of(stopped: Sequence[Mapping[str, Any]]) -> str:
    """Say how many programs were stopped, and name those that there are most of."""
    if not stopped:
        return "no programs were stopped"
    names = Counter(program_name(str(one["command"])) for one in stopped)
    named = [name for name, _ in names.most_common(NAMED)]
    more = ", ..." if len(names) > NAMED else ""
    count = "1 program was" if len(stopped) == 1 else f"{len(stopped)} programs were"
    return f"{count} stopped: {', '.join(named)}{more}"


def program_name(command: str) -> str:
    """The name of the program that a command line starts."""
    return (command.split(" ", 1)[0].rpartition("/")[2] or command)[:50]
