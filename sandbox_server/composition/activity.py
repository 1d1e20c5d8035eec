"""Activity without a request: while there is any, the box is not suspended and no checkpoint is made."""

from collections.abc import Callable

from sandbox_server.features.box.idleness import Reason

type Fact = Callable[[], bool]
"""Whether something is active at this moment."""


class Activity:
    """Asks everything that may run without a request. Builders add theirs in any order."""

    def __init__(self) -> None:
        self._commands: list[Fact] = []
        self._recordings: list[Fact] = []
        self._people: list[Fact] = []
        self._handoffs: list[Fact] = []

    def follow_commands(self, *facts: Fact) -> None:
        """Count commands or code as running while one of the facts holds."""
        self._commands.extend(facts)

    def follow_recordings(self, *facts: Fact) -> None:
        """Count a recording as running while one of the facts holds."""
        self._recordings.extend(facts)

    def follow_people(self, *facts: Fact) -> None:
        """Count a person as there while one of the facts holds."""
        self._people.extend(facts)

    def follow_handoffs(self, *facts: Fact) -> None:
        """Count a person's answer as waited for while one of the facts holds."""
        self._handoffs.extend(facts)

    def busy(self) -> bool:
        """Whether any command or code runs."""
        return any(fact() for fact in self._commands)

    def active(self) -> bool:
        """Whether any command, code or recording runs, or a person is there."""
        return self.busy() or any(fact() for fact in (*self._recordings, *self._people))

    def reasons(self) -> list[Reason]:
        """What goes on, an open handoff too."""
        named: dict[Reason, list[Fact]] = {
            "commands": self._commands,
            "recordings": self._recordings,
            "people": self._people,
            "handoffs": self._handoffs,
        }
        return [reason for reason, facts in named.items() if any(fact() for fact in facts)]
