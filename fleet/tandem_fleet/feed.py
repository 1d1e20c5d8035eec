"""Tells the parts of a fleet what became of sandboxes, as the store's events say it: none of them looks at all sandboxes for that."""

import logging
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.store.sandboxes import SandboxStore

NEWS_SECONDS = 1.0
"""How long a change that another process made may stay unseen."""
_log = logging.getLogger(__name__)


class Feed:
    """Follows the events. Listeners return at once."""

    def __init__(self, store: SandboxStore) -> None:
        self._store = store
        self.listeners: list[Callable[[Sandbox], None]] = []

    async def run(self) -> None:
        """First tell of all sandboxes as they are, then of each change, without end."""
        after = await self._store.last_event()
        async for sandbox in self._store.all():
            self._tell(sandbox)
        while True:
            seen = self._store.database.changes
            try:
                while events := await self._store.events(None, after):
                    for event in events:
                        after = event.number
                        self._tell(event.sandbox)
            except (SQLAlchemyError, OSError):
                _log.exception("cannot read the events")
            await self._store.database.wait_for_change(seen, NEWS_SECONDS)

    def _tell(self, sandbox: Sandbox) -> None:
        for listener in self.listeners:
            listener(sandbox)
