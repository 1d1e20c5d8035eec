"""Somebody at a terminal: whether what is typed counts, and what of it is told to whoever writes down what people do."""

from sandbox_server.core import Caller
from sandbox_server.core.control import Control
from sandbox_server.features.shell.session import ShellSession


class ShellInput:
    """One caller at the terminal of a session; lines that are entered there are the latest typist's."""

    def __init__(self, caller: Caller, control: Control) -> None:
        self._caller = caller
        self._control = control
        self.session: ShellSession | None = None
        """Where the caller types, once that is known."""

    async def may_type(self) -> bool:
        """Whether what is typed counts; a person's first key may take control."""
        return await self._control.drive(self._caller, "shell")

    def typed(self, count: int) -> None:
        """Take that so much was typed."""
        self._control.note(self._caller, "keys", count)
        if self.session:
            self.session.state.note_input(by_person=self._caller.person)
            self.session.state.entered = self._entered

    def _entered(self, line: str) -> None:
        if self.session:
            self._control.entered(self._caller, self.session.id, line)
