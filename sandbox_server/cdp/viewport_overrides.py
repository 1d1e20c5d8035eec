"""Viewport overrides: which pages a client shows with another size than their place in the window.

An override holds for the page in all sessions, until the session that set it clears it or ends.
"""

from sandbox_server.cdp.messages import DevtoolsCommand

_SETS, _CLEARS = "Emulation.setDeviceMetricsOverride", "Emulation.clearDeviceMetricsOverride"


class Overrides:
    """Follows the sessions of one browser."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._set: set[str] = set()

    def attached(self, session: str, target: str) -> None:
        """Record a session that was attached to a target."""
        self._targets[session] = target

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Record a command that was sent to a session."""
        if command.method == _SETS:
            self._set.add(session)
        elif command.method == _CLEARS:
            self._set.discard(session)

    def forget(self, session: str) -> None:
        """Forget a session that ended, and its override."""
        self._targets.pop(session, None)
        self._set.discard(session)

    def of(self, target: str) -> list[str]:
        """Return the sessions on a target."""
        return [session for session, each in self._targets.items() if each == target]

    def hold(self, session: str) -> bool:
        """Whether the viewport of the session's target is overridden."""
        target = self._targets.get(session)
        return any(each == session or self._targets.get(each) == target is not None for each in self._set)
