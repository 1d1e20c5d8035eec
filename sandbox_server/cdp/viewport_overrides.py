"""Which pages have another size than their place in the window: those that a client shows as another device.

The override holds for the page, whichever session drives it, until the session that set it ends or clears it.
"""

from sandbox_server.cdp.messages import DevtoolsCommand

_SETS, _CLEARS = "Emulation.setDeviceMetricsOverride", "Emulation.clearDeviceMetricsOverride"


class Overrides:
    """Follows the sessions of one browser."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._set: set[str] = set()

    def attached(self, session: str, target: str) -> None:
        """A session was opened on a target."""
        self._targets[session] = target

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Take a command that was sent to a session."""
        if command.method == _SETS:
            self._set.add(session)
        elif command.method == _CLEARS:
            self._set.discard(session)

    def forget(self, session: str) -> None:
        """A session ended, and with it what it had set."""
        self._targets.pop(session, None)
        self._set.discard(session)

    def of(self, target: str) -> list[str]:
        """The sessions on a target."""
        return [session for session, each in self._targets.items() if each == target]

    def hold(self, session: str) -> bool:
        """Whether the session's target is shown as another device."""
        target = self._targets.get(session)
        return any(each == session or self._targets.get(each) == target is not None for each in self._set)
