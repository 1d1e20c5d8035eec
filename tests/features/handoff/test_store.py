"""Handoffs on disk."""

from pathlib import Path

import pytest

from sandbox_server.features.handoff import store as module
from sandbox_server.features.handoff.store import HandoffStore
from sandbox_server.features.handoff.wire import Handoff

pytestmark = pytest.mark.anyio


def handoff(name: str, created: float, *, closed: bool = False) -> Handoff:
    return Handoff(
        id=name,
        kind="login",
        reason="r",
        instructions="",
        url=None,
        region=None,
        choices=[],
        on_timeout="give_up",
        asked_by="key",
        created_at=created,
        deadline_at=created + 60,
        status="closed" if closed else "open",
    )


async def test_what_was_kept_is_there_for_the_next_process(tmp_path: Path) -> None:
    path = str(tmp_path / "h.db")
    async with HandoffStore(path) as store:
        await store.put(handoff("b", 2))
        await store.put(handoff("a", 1))
        await store.put(handoff("b", 2, closed=True))
    async with HandoffStore(path) as again:
        assert [(each.id, each.status) for each in await again.all()] == [("a", "open"), ("b", "closed")]


async def test_only_the_latest_closed_ones_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CLOSED", 1)
    async with HandoffStore(str(tmp_path / "h.db")) as store:
        await store.put(handoff("open", 0))
        for number in range(3):
            await store.put(handoff(f"c{number}", number, closed=True))
        assert [each.id for each in await store.all()] == ["open", "c2"]
