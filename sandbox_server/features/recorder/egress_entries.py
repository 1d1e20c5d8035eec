"""What is recorded of the network: connections, put together, and changes of the policy."""

import asyncio
from typing import Any, Protocol

from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction

GATHER_SECONDS = 3.0
"""How long connections to the same destination by the same rule are one entry."""
MAX_GATHERED = 200
"""Entries of one time; what is more is counted in one."""
KIND = "egress"
ACTOR = "egress"

type _Key = tuple[str, int, str, str, str]


class RecordedConnection(Protocol):
    """A connection, as it is recorded."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def protocol(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def address(self) -> str | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def request(self) -> str: ...
    @property
    def bytes_sent(self) -> int: ...
    @property
    def bytes_received(self) -> int: ...
    @property
    def uid(self) -> int | None: ...
    @property
    def session(self) -> str | None: ...
    @property
    def command(self) -> str | None: ...


class EgressEntries:
    """Writes entries of the kind `egress`. A flood of connections becomes a few entries, so it pushes no others out."""

    def __init__(self, journal: Journal, redaction: Redaction) -> None:
        self._journal = journal
        self._redaction = redaction
        self._gathered: dict[_Key, dict[str, Any]] = {}
        self._more = 0
        self._seen: dict[_Key, RecordedConnection] = {}
        self._due: asyncio.TimerHandle | None = None

    def saw(self, connection: RecordedConnection) -> None:
        """Take a connection that opened or was refused."""
        if entry := self._entry(connection):
            entry["count"] += 1

    def over(self, connection: RecordedConnection) -> None:
        """Take the bytes of a connection that has ended."""
        if entry := self._entry(connection):
            entry["bytes_sent"] += connection.bytes_sent
            entry["bytes_received"] += connection.bytes_received
            entry["ended"] += 1

    def policy_changed(self, by: str, how: str, **what: Any) -> None:
        """Write down a change of the policy, and who made it."""
        self._journal.record(KIND, "person", by, event="policy", change=how, **what)

    def moved(self, away: str) -> None:
        """Write down that the egress process has gone or come back."""
        more: dict[str, Any] = {"reason": away} if away else {}
        self._journal.record(KIND, "system", ACTOR, event="away" if away else "back", **more)

    def write(self) -> None:
        """Write down what was gathered."""
        if self._due:
            self._due.cancel()
            self._due = None
        gathered, self._gathered = self._gathered, {}
        seen, self._seen = self._seen, {}
        more, self._more = self._more, 0
        for key, entry in gathered.items():
            self._journal.record(KIND, "system", ACTOR, event="connections", **entry, **self._program(seen[key]))
        if more:
            self._journal.record(KIND, "system", ACTOR, event="more", count=more)

    def _entry(self, connection: RecordedConnection) -> dict[str, Any] | None:
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(GATHER_SECONDS, self.write)
        key = (connection.host, connection.port, connection.protocol, connection.rule, connection.action)
        if key not in self._gathered and len(self._gathered) >= MAX_GATHERED:
            self._more += 1
            return None
        self._seen[key] = connection
        names = ("host", "port", "protocol", "rule", "action", "address")
        counts = {"count": 0, "ended": 0, "bytes_sent": 0, "bytes_received": 0}
        return self._gathered.setdefault(key, {**{name: getattr(connection, name) for name in names}, **counts})

    def _program(self, connection: RecordedConnection) -> dict[str, Any]:
        """Return what is known of the latest one's program: with a delay, so that it was looked up meanwhile."""
        return {
            "reason": connection.reason,
            "request": self._redaction.text(connection.request.partition("?")[0]),
            "uid": connection.uid,
            "process": self._redaction.text(connection.command) if connection.command else None,
            "session": connection.session,
        }
