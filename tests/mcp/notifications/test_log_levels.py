"""Which log messages are wanted."""

import pytest
from mcp_types import LOG_LEVEL_META_KEY, SetLevelRequestParams

from sandbox_server.mcp.notifications import log_levels as module
from sandbox_server.mcp.notifications.log_levels import LEVELS, LogLevels
from tests.mcp.contexts import Requested

pytestmark = pytest.mark.anyio


def session(name: str) -> Requested:
    return Requested(version="2025-11-25", mcp_session_id=name)


async def test_a_session_gets_all_until_it_says_from_which_level_on() -> None:
    levels = LogLevels()
    assert levels.wanted(session("a")) == frozenset(LEVELS)  # type: ignore[arg-type]
    await levels.set(session("a"), SetLevelRequestParams(level="critical"))  # type: ignore[arg-type]

    assert levels.wanted(session("a")) == {"critical", "alert", "emergency"}  # type: ignore[arg-type]
    assert levels.wanted(session("b")) == frozenset(LEVELS)  # type: ignore[arg-type]


async def test_a_request_of_2026_says_it_by_itself() -> None:
    asking = Requested()
    assert LogLevels().wanted(asking) == frozenset()  # type: ignore[arg-type]
    asking.meta[LOG_LEVEL_META_KEY] = "alert"

    assert LogLevels().wanted(asking) == {"alert", "emergency"}  # type: ignore[arg-type]


async def test_only_so_many_sessions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SESSIONS", 1)
    levels = LogLevels()
    for name in ("a", "b"):
        await levels.set(session(name), SetLevelRequestParams(level="emergency"))  # type: ignore[arg-type]

    assert levels.wanted(session("a")) == frozenset(LEVELS)  # type: ignore[arg-type]
    assert levels.wanted(session("b")) == {"emergency"}  # type: ignore[arg-type]
