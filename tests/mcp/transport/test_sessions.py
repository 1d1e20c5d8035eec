"""Sessions of MCP's clients."""

import pytest

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.mcp.transport import sessions as module
from sandbox_server.mcp.transport.sessions import McpSessions

pytestmark = pytest.mark.anyio


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was ended, with few places for all."""
    for name, most in (("MAX_SESSIONS", 4), ("PROGRAM_SESSIONS", 3), ("SESSIONS_OF_ONE", 2)):
        monkeypatch.setattr(module, name, most)
    return []


@pytest.fixture
def sessions(ended: list[tuple[str, str]]) -> McpSessions:
    async def end(session: str, caller: str) -> None:
        ended.append((session, caller))

    return McpSessions(end)


async def opened(sessions: McpSessions, session: str, name: str, *, person: bool = False) -> None:
    sessions.note(session, name, await sessions.admit(name, person=person))


async def test_a_credentials_next_session_takes_the_place_of_its_longest_unused_one(
    sessions: McpSessions, ended: list[tuple[str, str]]
) -> None:
    await opened(sessions, "1", "agent")
    await opened(sessions, "2", "agent#7")
    with sessions.using("1"):
        pass
    await opened(sessions, "3", "agent")
    assert ended == [("2", "agent#7")]


async def test_a_session_that_answers_is_not_ended(sessions: McpSessions, ended: list[tuple[str, str]]) -> None:
    await opened(sessions, "1", "agent")
    await opened(sessions, "2", "agent")
    with sessions.using("1"), sessions.using("2"), pytest.raises(ResourceExhausted, match="agent has reached its limit"):
        await sessions.admit("agent", person=False)
    assert ended == []


async def test_programs_leave_a_session_for_a_person(sessions: McpSessions) -> None:
    for number, name in enumerate(("agent", "agent", "other")):
        await opened(sessions, str(number), name)
    with pytest.raises(ResourceExhausted, match="programs have reached their limit"):
        await sessions.admit("third", person=False)
    await opened(sessions, "4", "ann#1", person=True)


async def test_a_session_that_is_over_makes_room(
    sessions: McpSessions, monkeypatch: pytest.MonkeyPatch, ended: list[tuple[str, str]]
) -> None:
    await opened(sessions, "1", "agent")
    await opened(sessions, "2", "agent")
    sessions.forget("1")
    sessions.forget("1")
    await opened(sessions, "3", "agent")
    monkeypatch.setattr(module, "IDLE_SECONDS", -1)
    await opened(sessions, "4", "agent")
    assert ended == []
