"""The targets whose requests the gate holds up. While there are rules, clients act on no others.

A client may know a new page before the gate's interception is on there. Its commands wait for that.
"""

import asyncio
from contextlib import suppress

from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.messages import DevtoolsCommand

HOLD_SECONDS = 5.0
"""Seconds that a command waits for the gate. Then it is refused."""
NOT_GATED = "the requests of this page cannot be held up for approval yet: nothing was done"
UNGATED_KINDS = frozenset({"browser", "tab"})
"""Targets that load nothing themselves. The gate does not attach to them."""
_TARGETS = "Target."


class GatedTargets:
    """The targets of the running browser that the gate is ready for."""

    def __init__(self) -> None:
        self._ready: set[str] | None = None
        self._sessions: dict[str, str] = {}
        self._changed = asyncio.Event()

    @property
    def on(self) -> bool:
        """Whether there are rules."""
        return self._ready is not None

    def begin(self) -> None:
        """From now on clients act on no target that is not ready."""
        self._ready = set()

    def end(self) -> None:
        """There are no rules: clients act on every target."""
        self._ready = None
        self._tell()

    def add(self, target: str) -> None:
        """Note that the requests of a target are held up."""
        if self._ready is not None:
            self._ready.add(target)
            self._tell()

    def discard(self, target: str) -> None:
        """Forget a target that has gone."""
        if self._ready is not None:
            self._ready.discard(target)

    def lacks(self, target: str) -> bool:
        """Whether clients may not act on a target yet."""
        return self._ready is not None and target not in self._ready

    def attached(self, session: str, target: str, kind: str) -> None:
        """Record a session of a client on a target."""
        if kind not in UNGATED_KINDS:
            self._sessions[session] = target

    def forget(self, session: str) -> None:
        """Forget a session that ended."""
        self._sessions.pop(session, None)

    def held(self, session: str, command: DevtoolsCommand) -> str | None:
        """Return the target that a command has to wait for. Pages that the domain Target opens are paused until it is ready."""
        target = self._sessions.get(session)
        waits = target is not None and self.lacks(target) and not command.method.startswith(_TARGETS) and acts(command)
        return target if waits else None

    async def until_ready(self, target: str) -> None:
        """Wait until clients may act on a target, for at most HOLD_SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_SECONDS):
                while self.lacks(target):
                    await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed.clear()
