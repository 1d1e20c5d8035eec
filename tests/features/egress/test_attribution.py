import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.features.egress import attribution as attribution_module
from sandbox_server.features.egress.attribution import ConnectionAttribution
from sandbox_server.features.egress.connections import Connection, ConnectionTable
from tests.features.egress.flows import refused
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Daemon:
    """Knows whose sockets some are."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {"5": {"pid": 12, "command": "curl\x1b[0m x", "session": "shell:main  "}}
        self.asked: list[list[int]] = []
        self.fails = False

    async def look(self, inodes: Sequence[int]) -> Mapping[str, Mapping[str, Any]]:
        """The owners of sockets."""
        self.asked.append(list(inodes))
        if self.fails:
            raise Unavailable("away")
        return self.known


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


def connection(inode: int = 5, **more: Any) -> Connection:
    table = ConnectionTable(991)
    table.hear(refused(inode=inode, **more))
    return table.ended[0]


async def test_a_connection_gets_program_and_session(daemon: Daemon) -> None:
    found: list[Connection] = []
    async with ConnectionAttribution(daemon.look, found.append) as attribution:
        known, other = connection(), connection(6)
        attribution.want(known)
        attribution.want(other)
        await attribution.settled(known, 20)
        assert known.process
        assert (known.process.pid, known.process.command, known.session) == (12, "curl [0m x", "shell:main")
        assert found == [known]
        await attribution.settled(other, 20)
        assert (other.process, other.session) == (None, None)


async def test_many_connections_take_few_lookups(daemon: Daemon) -> None:
    async with ConnectionAttribution(daemon.look) as attribution:
        for inode in range(1, 1000):
            attribution.want(connection(inode))
        await eventually(lambda: not attribution._pending)
    assert sum(map(len, daemon.asked)) == attribution_module.MAX_PENDING
    assert len(daemon.asked) == attribution_module.MAX_PENDING // attribution_module.MAX_ASKED
    assert daemon.asked[0][0] == attribution_module.MAX_PENDING  # the latest first


async def test_lookups_that_take_long_are_made_rarely(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution_module, "SHARE", 0.001)
    monkeypatch.setattr(attribution_module, "BURST_SECONDS", 0.0)

    async def look(inodes: Sequence[int]) -> Mapping[str, Mapping[str, Any]]:
        await asyncio.sleep(0.01)
        return await daemon.look(inodes)

    async with ConnectionAttribution(look) as attribution:
        for inode in (1, 2):
            waiting = connection(inode)
            attribution.want(waiting)
            await attribution.settled(waiting, 0.3)
    assert daemon.asked == [[1]]


async def test_what_is_known_or_has_no_socket_is_not_looked_up(daemon: Daemon) -> None:
    async with ConnectionAttribution(daemon.look) as attribution:
        attribution.want(connection(0))
        attribution.want(connection(5, uid=991))
        await asyncio.sleep(0.05)
    assert daemon.asked == []


async def test_a_daemon_that_does_not_answer_leaves_it_unknown(daemon: Daemon) -> None:
    daemon.fails = True
    async with ConnectionAttribution(daemon.look) as attribution:
        first = connection()
        attribution.want(first)
        await attribution.settled(first, 20)
        assert first.process is None
        daemon.fails = False
        attribution.want(first)
        await attribution.settled(first, 20)
        assert first.process


async def test_what_is_accepted_is_looked_up_before_it_is_wanted(daemon: Daemon) -> None:
    found: list[Connection] = []
    async with ConnectionAttribution(daemon.look, found.append, desktop_uid=991) as attribution:
        attribution.hear({"event": "accepted", "uid": 991, "inode": 6})
        attribution.hear({"event": "open", "uid": 1000, "inode": 7})
        attribution.hear({"event": "accepted", "uid": 1000, "inode": 5})
        await eventually(lambda: attribution._known)
        daemon.known = {}  # the program has ended
        late = connection()
        attribution.want(late)
        assert late.process
        assert (late.process.pid, late.session, found) == (12, "shell:main", [late])
    assert daemon.asked == [[5]]


async def test_a_connection_that_is_wanted_while_its_socket_is_looked_up_is_found(daemon: Daemon) -> None:
    async with ConnectionAttribution(daemon.look) as attribution:
        attribution.hear({"event": "accepted", "uid": 1000, "inode": 5})
        wanted = connection()
        attribution.want(wanted)
        await attribution.settled(wanted, 20)
        assert wanted.process


async def test_so_many_sockets_are_remembered(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution_module, "MAX_KNOWN", 2)
    daemon.known = {str(inode): daemon.known["5"] for inode in (1, 2, 3)}
    async with ConnectionAttribution(daemon.look) as attribution:
        for inode in (1, 2, 3):
            attribution.hear({"event": "accepted", "uid": 1000, "inode": inode})
            await eventually(lambda: not attribution._pending)
        assert list(attribution._known) == [2, 3]


async def test_nobody_waits_for_a_lookup_for_ever(daemon: Daemon) -> None:
    attribution = ConnectionAttribution(daemon.look)
    waiting = connection()
    attribution.want(waiting)
    await attribution.settled(waiting, 0.02)
    assert daemon.asked == []
