"""What is recorded of secrets: which one went where, never its value."""

from collections.abc import Mapping
from typing import Any

from sandbox_server.drivers.recorder.journal import Journal

KIND = "egress"
ACTOR = "broker"
MAX_SHOWN = 200


class SecretEntries:
    """Writes an entry for each request that got a secret, and for each whose placeholder was not bound to it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take an event of the egress process."""
        if event.get("event") != "secret":
            return
        said: dict[str, Any] = {name: str(event[name])[:MAX_SHOWN] for name in ("host", "method", "path", "outcome")}
        if event.get("reason"):
            said["reason"] = str(event["reason"])[:MAX_SHOWN]
        self._journal.record(KIND, "system", ACTOR, event="secret", secret=str(event["name"])[:MAX_SHOWN], port=int(event["port"]), **said)

    def filled(self, caller: str, name: str, origin: str) -> None:
        """Write down that an agent had a secret filled into a page."""
        self._journal.record(KIND, "agent", caller, event="secret", secret=name, origin=origin, outcome="filled")
