import pytest

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.drivers.nodes.sessions import NodeSessions
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_a_session_is_opened_once_and_found_by_id_and_version(node_sessions: NodeSessions) -> None:
    made, created = await node_sessions.create("a", "24", "/usr")
    again, twice = await node_sessions.create("a", None, None)

    assert (created, twice, again is made, made.directory) == (True, False, True, "/usr")
    assert await node_sessions.get("a", "node24") is made
    for session_id, version in (("b", None), ("a", "22")):
        with pytest.raises(NotFound):
            await node_sessions.get(session_id, version)
    with pytest.raises(Conflict, match="node24"):
        await node_sessions.create("a", "22", None)


@pytest.mark.parametrize("session_id", ["x" * 129, "a/b", "a\nb"])
async def test_an_unusable_id_is_refused(node_sessions: NodeSessions, session_id: str) -> None:
    with pytest.raises(InvalidArgument):
        await node_sessions.create(session_id, None, None)


@pytest.mark.parametrize("directory", ["/no/such", "relative"])
async def test_a_session_that_cannot_start_is_not_there(node_sessions: NodeSessions, directory: str) -> None:
    with pytest.raises(InvalidArgument, match=directory):
        await node_sessions.create("a", None, directory)
    assert "a" not in node_sessions


async def test_more_than_so_many_are_refused(node_sessions: NodeSessions) -> None:
    for _ in range(2):
        await node_sessions.create(None, None, None)
    with pytest.raises(ResourceExhausted, match="2 Node"):
        await node_sessions.create(None, None, None)


async def test_an_idle_session_is_closed_after_its_own_time(node_sessions: NodeSessions) -> None:
    short, _ = await node_sessions.create("short", None, None, 0)
    await node_sessions.create("long", None, None, 60)
    await eventually(lambda: "short" not in node_sessions)

    assert short.closed
    assert [session.id for session in node_sessions] == ["long"]
