"""Handoffs on disk."""

import asyncio
import threading
from pathlib import Path

import pytest

from sandbox_server.features.handoff import store as module
from sandbox_server.features.handoff.handoff import Handoff
from sandbox_server.features.handoff.store import HandoffStore
from tests.patience import PATIENCE_SECONDS

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


async def test_what_was_closed_last_is_kept_however_old_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CLOSED", 1)
    async with HandoffStore(str(tmp_path / "h.db")) as store:
        await store.put(handoff("new", 50, closed=True).model_copy(update={"closed_at": 60.0}))
        await store.put(handoff("old", 1, closed=True).model_copy(update={"closed_at": 90.5}))
        assert [each.id for each in await store.all()] == ["old"]


async def test_the_work_of_a_caller_that_went_is_alone_with_the_file_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    text = Handoff.model_dump_json

    def slow(self: Handoff) -> str:
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return text(self)

    path = str(tmp_path / "h.db")
    store = await HandoffStore(path).__aenter__()
    with monkeypatch.context() as patched:
        patched.setattr(Handoff, "model_dump_json", slow)
        gone = asyncio.ensure_future(store.put(handoff("gone", 1)))
        assert await asyncio.to_thread(begun.wait, 30)
        gone.cancel()
        closing = asyncio.ensure_future(store.__aexit__(None, None, None))
        await asyncio.wait([gone])
        go_on.set()
        await closing
    async with HandoffStore(path) as again:
        assert [each.id for each in await again.all()] == ["gone"]


async def test_nobody_else_may_open_the_file(tmp_path: Path) -> None:
    async with HandoffStore(str(tmp_path / "h.db")):
        assert (tmp_path / "h.db").stat().st_mode & 0o777 == 0o600
