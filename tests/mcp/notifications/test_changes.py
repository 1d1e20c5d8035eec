"""Change notifications to sessions and listeners."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent, ToolsListChanged

from sandbox_server.mcp.notifications.changes import ChangeNotifications
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Session:
    """A session that may be slow to read."""

    def __init__(self) -> None:
        self._connection = self
        self.session = self
        self.exit_stack = AsyncExitStack()
        self.reads = asyncio.Event()
        self.notified: list[str] = []

    async def notify(self, method: str, params: Any) -> None:
        """Take it once it is read."""
        self.notified.append(method.removeprefix("notifications/"))
        await self.reads.wait()


def heard(session: Session, number: int) -> bool:
    return len(session.notified) == number


async def test_sessions_hear_of_lists_and_of_the_resources_that_they_follow() -> None:
    changes, ann, bob = ChangeNotifications(), Session(), Session()
    published: list[ServerEvent] = []
    changes.bus.subscribe(published.append)
    for session in (ann, bob):
        session.reads.set()
        await changes.session_opened(session, None)  # type: ignore[arg-type]
    changes.subscriptions_of(ann).add("a://x")  # type: ignore[arg-type]
    changes.publish(ToolsListChanged(), ResourceUpdated("a://x"), ResourceUpdated("a://y"))
    await eventually(lambda: len(ann.notified) == 2 and len(published) == 3)

    assert sorted(ann.notified) == ["resources/updated", "tools/list_changed"]
    assert bob.notified == ["tools/list_changed"]
    await changes.close()


async def test_a_session_that_does_not_read_holds_up_nobody_and_little_is_kept_for_it() -> None:
    changes, slow, quick = ChangeNotifications(), Session(), Session()
    quick.reads.set()
    for session in (slow, quick):
        await changes.session_opened(session, None)  # type: ignore[arg-type]
    for number in range(1, 5):
        changes.publish(ToolsListChanged())
        await eventually(partial(heard, quick, number))
    assert len(slow.notified) == 1
    slow.reads.set()
    await eventually(lambda: len(slow.notified) == 2)

    await changes.close()
    assert len(slow.notified) == 2


async def test_changes_have_an_audience_while_a_client_is_connected() -> None:
    changes, session = ChangeNotifications(), Session()
    assert not changes.has_audience.is_set()
    await changes.session_opened(session, None)  # type: ignore[arg-type]
    with changes.listening():
        await session.exit_stack.aclose()
        assert changes.has_audience.is_set()

    assert not changes.has_audience.is_set()
    await changes.close()
