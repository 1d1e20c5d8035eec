import pytest

from sandbox_server.features.egress.blocked import BlockedConnections, BlockedSince
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.hints import EgressHints
from tests.features.egress.conftest import AGENT
from tests.features.egress.flows import refused

pytestmark = pytest.mark.anyio


async def test_what_was_refused_is_said_once_to_each_caller() -> None:
    hints, table = EgressHints(), ConnectionTable()
    table.seen.append(hints.see)
    blocked = BlockedConnections(hints)
    table.hear(refused())
    told = [(await blocked.blocked_connections(BlockedSince(since=0), AGENT)).blocked for _ in range(2)]
    assert told == ["blocked: evil.example:443 by rule `default`; ask with request_access", None]
