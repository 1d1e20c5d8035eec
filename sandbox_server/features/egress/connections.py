"""The connections of the box: those that are open, and the last ones that ended or were refused."""

import itertools
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sandbox_server.core import Caller, Model
from sandbox_server.core.control import shown_to

MAX_ENDED = 1000
MAX_OPEN = 4096
GATHER_SECONDS = 3.0
FIRST_PRIVATE = 1 << 40
"""The number of the first connection of private time. They have numbers of their own, so that no gap tells how many there were."""
MAX_APART = 5
"""Refusals of the same kind that have entries of their own within GATHER_SECONDS. More are counted by the last one."""

type ConnectionAction = Literal["allow", "deny"]


class ConnectionProcess(Model):
    pid: int
    """Process id as in the agent's shells."""
    command: str


class EgressConnection(Model):
    id: int
    """Its number, which only grows."""
    at: float
    """Seconds since the epoch."""
    host: str
    """The name that was asked for, or the address if there was none."""
    address: str | None
    """The address that was dialled; null if none was."""
    port: int
    protocol: str
    """`http`, `tls` or `tcp`; of what is refused without a connection also `udp`, `icmp` and others."""
    rule: str
    """The rule that decided, by name; or `default`, `protected`, `packets`, `mismatch`, `limit`, `unreachable`."""
    action: ConnectionAction
    learned: bool
    """Whether only the mode `learn` allows it."""
    reason: str
    """What its program was told, or why it ended; empty if one side ended it."""
    request: str
    """Method and path of its last request, if it could be read; else empty."""
    bytes_sent: int
    bytes_received: int
    ended: float | None
    """Seconds since the epoch; null while it is open."""
    uid: int | None
    """Its user; null if unknown."""
    process: ConnectionProcess | None
    """Its program; null if unknown."""
    session: str | None
    """The session that started the program, such as `shell:main`, or `desktop`; null if unknown."""
    count: int
    """How many refusals this entry stands for."""


@dataclass(eq=False)
class Connection:
    """A connection as it changes."""

    id: int
    at: float
    host: str
    port: int
    protocol: str
    rule: str
    action: ConnectionAction
    address: str | None = None
    learned: bool = False
    reason: str = ""
    request: str = ""
    bytes_sent: int = 0
    bytes_received: int = 0
    ended: float | None = None
    uid: int | None = None
    inode: int = 0
    process: ConnectionProcess | None = None
    session: str | None = None
    count: int = 1
    private: str | None = None
    """The person in whose private time it was open, if the desktop may have caused it. Nobody else hears of it."""
    changed: int = field(default=0)
    """When it changed, by the table's counter."""

    @property
    def place(self) -> str:
        """Host and port, as people write them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def command(self) -> str | None:
        """The command line of its program; None if unknown."""
        return self.process.command if self.process else None

    def seen_by(self, caller: Caller) -> bool:
        """Whether a caller may hear of it."""
        return shown_to(self.private, caller)

    def shown(self) -> EgressConnection:
        """Describe it to a caller."""
        return EgressConnection(**{name: getattr(self, name) for name in EgressConnection.model_fields})


class ConnectionTable:
    """Fills itself from the events of the egress process.

    `seen` is called with every connection that opens or is refused, but those of private time: these are listed for their person alone.
    """

    def __init__(self, desktop_uid: int | None = None, now: Callable[[], float] = time.time) -> None:
        self._desktop_uid = desktop_uid
        self._now = now
        self._numbers, self._private_numbers = itertools.count(1), itertools.count(FIRST_PRIVATE)
        self._open: dict[int, Connection] = {}
        self._ended: deque[Connection] = deque(maxlen=MAX_ENDED)
        self._refused: OrderedDict[tuple[object, ...], list[Connection]] = OrderedDict()
        self.version = 0
        """Grows with every change."""
        self.seen: list[Callable[[Connection], None]] = []
        self.over: list[Callable[[Connection], None]] = []
        """Called with every connection that was open and has ended."""

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take an event."""
        kind = event.get("event")
        if kind == "open" and event["id"] not in self._open:  # else it was listed before it was told of
            self._begin(event)
        elif kind == "close":
            self._end(event)
        elif kind == "refused":
            self._refuse(event)

    def begin_anew(self, flows: Iterable[Mapping[str, Any]], reason: str = "the egress process ended") -> None:
        """Take what the egress process relays now, after its events were not followed for a while. `reason` is why others ended."""
        now = {flow["id"]: flow for flow in flows}
        for number, connection in list(self._open.items()):
            flow = now.get(number)
            if flow is None or (flow["host"], flow["port"]) != (connection.host, connection.port):
                self._over(number, reason)
        for number, flow in now.items():
            if number not in self._open:
                self._begin(flow)

    def measure(self, flows: Iterable[Mapping[str, Any]]) -> None:
        """Take the bytes of open connections."""
        for flow in flows:
            connection = self._open.get(flow["id"])
            if connection and (private := flow.get("private")) is not None and private != connection.private:
                connection = self._open[flow["id"]] = replace(connection, private=private)  # who knew it before learns nothing more of it
                self.touch(connection)
            if connection and (connection.bytes_sent, connection.bytes_received) != (flow["sent"], flow["received"]):
                connection.bytes_sent, connection.bytes_received = flow["sent"], flow["received"]
                self.touch(connection)

    @property
    def open(self) -> list[Connection]:
        """The open ones, the newest first."""
        return list(reversed(self._open.values()))

    @property
    def ended(self) -> list[Connection]:
        """Those that ended or were refused, the latest first."""
        return list(reversed(self._ended))

    @property
    def public(self) -> int:
        """How many are open that everybody may hear of."""
        return sum(each.private is None for each in self._open.values())

    def changed_since(self, version: int) -> list[Connection]:
        """Return what is new or changed, the latest first."""
        found = (each for each in itertools.chain(self._open.values(), self._ended) if each.changed > version)
        return sorted(found, key=lambda each: -each.changed)

    def touch(self, connection: Connection) -> None:
        """Note that one has changed."""
        self.version += 1
        connection.changed = self.version

    def _begin(self, flow: Mapping[str, Any]) -> None:
        if len(self._open) >= MAX_OPEN:
            return
        connection = self._open[flow["id"]] = self._made(flow, "allow")
        connection.bytes_sent, connection.bytes_received = flow["sent"], flow["received"]
        self._tell(connection)

    def _end(self, event: Mapping[str, Any]) -> None:
        if event["id"] in self._open:
            self.measure([event])
            connection = self._open[event["id"]]
            connection.request = event.get("request") or connection.request
            self._over(event["id"], event.get("reason", ""))

    def _over(self, number: int, reason: str) -> None:
        connection = self._open.pop(number)
        connection.ended, connection.reason = self._now(), reason
        self._ended.append(connection)
        self.touch(connection)
        for listener in self.over if connection.private is None else ():
            listener(connection)

    def _refuse(self, event: Mapping[str, Any]) -> None:
        key = tuple(event.get(name) for name in ("host", "port", "protocol", "rule", "uid", "request", "private"))
        now, connection = self._now(), self._made(event, "deny")
        connection.ended, connection.reason = now, event["reason"]
        while self._refused and now - next(iter(self._refused.values()))[0].at >= GATHER_SECONDS:
            self._refused.popitem(last=False)
        same = self._refused.setdefault(key, [])
        if len(same) < MAX_APART:
            same.append(connection)
            self._ended.append(connection)
        else:
            same[-1].count, same[-1].ended = same[-1].count + 1, now
            self.touch(same[-1])
        self._tell(connection)

    def _made(self, event: Mapping[str, Any], action: ConnectionAction) -> Connection:
        uid, private = event.get("uid"), event.get("private")
        return Connection(
            id=next(self._numbers if private is None else self._private_numbers),
            at=self._now(),
            host=event["host"],
            port=event["port"],
            protocol=event["protocol"],
            rule=event["rule"],
            action=action,
            address=event.get("address"),
            learned=bool(event.get("learned")),
            request=event.get("request", ""),
            uid=uid,
            inode=event.get("inode", 0),
            session="desktop" if uid is not None and uid == self._desktop_uid else None,
            private=private,
        )

    def _tell(self, connection: Connection) -> None:
        self.touch(connection)
        for listener in self.seen if connection.private is None else ():
            listener(connection)
