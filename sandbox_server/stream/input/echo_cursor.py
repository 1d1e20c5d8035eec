"""What one viewer is told of what is done: what is done from now on, and nothing that was done under another lease."""

from typing import Protocol

from sandbox_server.stream.input.input_echo import EchoedInput, InputEchoLog


class EchoSource(Protocol):
    """Where something is done."""

    echo_log: InputEchoLog

    async def count_echoes(self) -> int:
        """How many acts there were by now."""


class EchoCursor:
    """The acts on a screen that one viewer is still to be told."""

    def __init__(self, screen: EchoSource) -> None:
        self._screen = screen
        self._leases = 0
        self._number: int | None = None

    def forget(self) -> None:
        """Tell nothing of what was done until now: the lease is another."""
        self._leases += 1
        self._number = None

    async def new_events(self) -> tuple[EchoedInput, ...]:
        """What was done since it was asked for last."""
        leases = self._leases
        if self._number is None:
            number = await self._screen.count_echoes()
            self._number = number if leases == self._leases else None
            return ()
        self._number, acts = self._screen.echo_log.after(self._number)
        return acts
