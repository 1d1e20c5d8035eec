"""Activity without a request: while there is any, the box is not suspended and no checkpoint is made."""

from collections.abc import Callable

type Fact = Callable[[], bool]
"""Whether something is active at this moment."""


class Activity:
    """Asks everything that may run without a request. Builders add theirs in any order."""

    def __init__(self) -> None:
        self._commands: list[Fact] = []
        self._recordings: list[Fact] = []

    def follow_commands(self, *facts: Fact) -> None:
        """Count commands or code as running while one of the facts holds."""
        self._commands.extend(facts)

    def follow_recordings(self, *facts: Fact) -> None:
        """Count a recording as running while one of the facts holds."""
        self._recordings.extend(facts)

    def busy(self) -> bool:
        """Whether any command or code runs."""
        return any(fact() for fact in self._commands)

    def active(self) -> bool:
        """Whether any command, code or recording runs."""
        return self.busy() or any(fact() for fact in self._recordings)
