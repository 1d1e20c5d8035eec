"""Idleness: for how long nothing has happened, so that whoever runs the container can let it rest."""

from collections.abc import Callable
from typing import Literal

from sandbox_server.core import Model, operation
from sandbox_server.features.box.suspension import Suspension

type Reason = Literal["requests", "commands", "recordings", "people", "handoffs"]


class Idleness(Model):
    """For how long nothing has happened."""

    idle_seconds: float
    """Seconds since the last request that needed the box, or since one of `active` ended; 0 while something goes on."""
    active: list[Reason]
    """What goes on. `people`: somebody watches or has control. `handoffs`: a person's answer is waited for."""


class IdlenessReport:
    """Tells whether the sandbox is used. Looking at its state, as this does, is no use."""

    tag = "suspension"

    def __init__(self, suspension: Suspension, reasons: Callable[[], list[Reason]]) -> None:
        self._suspension = suspension
        self._reasons = reasons

    @operation("GET /v1/idleness", scope="view")
    async def idleness(self) -> Idleness:
        """Tell for how long nothing has happened, and what goes on.

        Requests count that need the box, by whatever way they come, and connections to programs in it do while data passes through the
        browser's DevTools. Health, metrics, and this, do not.
        """
        active = self._reasons()
        if self._suspension.in_use:
            active.insert(0, "requests")
        seconds = await self._suspension.seconds_idle(active=bool(active))
        return Idleness(idle_seconds=round(seconds, 1), active=active)
