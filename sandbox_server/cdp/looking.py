"""How long scripts of programs that only look may run in pages that a person has: each, and all of them together.

The browser ends each when its time is over. All of them share a part of the time, so that looking again and again hangs no page either.
"""

import time
from collections.abc import Callable
from typing import Any

from sandbox_server.cdp.methods import effect_of
from sandbox_server.cdp.wire import Command

LONGEST = 1.0
"""Seconds for one script."""
SAVED = 1.5
"""Seconds for all scripts that run at once, and for those that follow each other closely."""
SHARE = 0.1
"""Seconds that come back in each second."""
SHORTEST = 0.02
"""Seconds with which a script may begin."""
REFUSED = "scripts of programs have looked at pages that a person has for as long as they may; send it again in a second"


class Looking:
    """Gives the scripts of all programs their time. `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = SAVED
        self._told = clock()
        self._running: dict[int, tuple[float, float]] = {}
        """When each began, and the time that it was given."""

    def bounded(self, number: int, command: Command) -> Command | None:
        """The script as it may run, under the id that it is sent with; None where there is no time for it now."""
        self._settle()
        given = min(_wanted(command), self._left)
        if given < SHORTEST:
            return None
        self._left -= given
        self._running[number] = self._told, given
        params = command.parsed.get("params")
        params = params if isinstance(params, dict) else {}
        return command._replace(parsed=command.parsed | {"params": params | {"timeout": int(given * 1000)}})

    def answered(self, number: int) -> None:
        """Give back what a script did not take."""
        if number in self._running:
            self._settle()
            began, given = self._running.pop(number, (0.0, 0.0))
            self._left = min(SAVED, self._left + max(0.0, given - (self._told - began)))

    def _settle(self) -> None:
        """Learn the time, and forget who has used up its own: it gives nothing back, whether it is answered or not."""
        now = self._clock()
        self._left = min(SAVED, self._left + (now - self._told) * SHARE)
        self._told = now
        self._running = {number: run for number, run in self._running.items() if now - run[0] < run[1]}


def is_script(command: Command) -> bool:
    """Whether a command runs a script that may do no more than look."""
    return effect_of(command.method) == "scripts"


def _wanted(command: Command) -> float:
    """Seconds that a script asks for, at most as long as one may have; what is no time is as long."""
    params: Any = command.parsed.get("params")
    asked = params.get("timeout") if isinstance(params, dict) else None
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 < asked < LONGEST * 1000:
        return LONGEST
    return max(SHORTEST, asked / 1000)
