"""Tells the egress process who is in private mode, so that it marks what the desktop causes meanwhile."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sandbox_server.core.control import Holding
from sandbox_server.drivers.egress.egress_client import EgressClient

type Hear = Callable[[Mapping[str, Any]], None]


class PrivateTimeTeller:
    """Tells it with each change of the lease, and whenever the process has come. `users` are those that may be the desktop."""

    def __init__(self, client: EgressClient, holding: Callable[[], Holding], users: Iterable[int]) -> None:
        self._client = client
        self._holding = holding
        self._users = sorted(users)

    async def __call__(self, holding: Holding) -> None:
        """Take a new holding. Raises Unavailable while the process is away: it is told when it comes."""
        if not self._client.off:
            await self._client.ask("private", person=holding.private, users=self._users)

    async def give(self) -> None:
        """Tell a process that has come. Raises Unavailable."""
        await self(self._holding())


def unless_private(hear: Hear) -> Hear:
    """Return what takes events, but those of private time."""

    def heard(event: Mapping[str, Any]) -> None:
        if event.get("private") is None:
            hear(event)

    return heard
