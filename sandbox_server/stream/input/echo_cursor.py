"""One viewer's cursor in the input echo: it is sent what follows, and nothing from under another lease."""

from typing import Protocol

from sandbox_server.stream.input.input_echo import EchoedInput, InputEchoLog


class EchoSource(Protocol):
    """The screen whose input is echoed."""

    echo_log: InputEchoLog

    async def count_echoes(self) -> int:
        """How many events there were by now."""


class EchoCursor:
    """Where one viewer is in the log of echoed input."""

    def __init__(self, screen: EchoSource) -> None:
        self._screen = screen
        self._leases = 0
        self._number: int | None = None

    def forget(self) -> None:
        """Skip all events until now: the lease has changed."""
        self._leases += 1
        self._number = None

    async def new_events(self) -> tuple[EchoedInput, ...]:
        """The events since the last call."""
        leases = self._leases
        if self._number is None:
            number = await self._screen.count_echoes()
            self._number = number if leases == self._leases else None
            return ()
        self._number, events = self._screen.echo_log.after(self._number)
        return events
