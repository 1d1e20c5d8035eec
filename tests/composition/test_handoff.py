"""What an agent asks of people."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox_server.composition.handoff import HandoffParts, build_handoff_queue, expelled_by
from sandbox_server.composition.late import Late
from sandbox_server.core import Caller
from sandbox_server.core.control import Holding
from sandbox_server.core.receipt import Receipt
from sandbox_server.features.handoff.handoff import AskPerson
from sandbox_server.features.handoff.queue import Receipted
from tests.composition.made import first
from tests.controls import driving
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio


class Keeper:
    """Somebody who came by a link has control."""

    def __init__(self) -> None:
        self.holding = Holding(2, "human", "invited#1234abcd-ff", frozenset({"shell"}))
        self.expelled: list[str] = []

    async def expel(self, name: str) -> None:
        self.expelled.append(name)


async def test_who_came_by_a_link_is_out_and_drives_no_more() -> None:
    revoked, keeper = first().machine.revoked, Keeper()
    waiting = asyncio.ensure_future(revoked.end_of("invited#1234abcd-ff"))
    await asyncio.sleep(0)
    expel = expelled_by(revoked, keeper)  # type: ignore[arg-type]
    await expel("invited#99999999-")
    assert (waiting.done(), keeper.expelled) == (False, [])
    await expel("invited#1234abcd-")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await waiting
    assert keeper.expelled == ["invited#1234abcd-ff"]


@asynccontextmanager
async def opened(folder: Path, receipts: Late[Receipted | None]) -> AsyncIterator[HandoffParts]:
    made = first(HANDOFF_FILE=str(folder / "handoffs.db"))
    found = build_handoff_queue(made.machine, driving(folder), made.recorder, receipts)
    store, links, queue, _ = found.part.opened
    async with store, links, queue:
        yield found


async def test_a_receipt_that_is_asked_for_too_early_is_waited_for(tmp_path: Path) -> None:
    receipts, asked = Late[Receipted | None]("receipts"), list[str]()

    async def receipted(person: str, since: float, until: float) -> Receipt | None:
        asked.append(person)
        return None

    async with opened(tmp_path, receipts) as found:
        made = await found.queue.ask(AskPerson(reason="r"), Caller("agent"))
        waiting = asyncio.ensure_future(found.queue.with_receipt(await found.queue.close(made.id, "ann", "done")))
        await asyncio.sleep(0)
        assert (waiting.done(), asked) == (False, [])
        receipts.set(receipted)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await waiting
    assert asked == ["ann"]


async def test_without_a_browser_an_outcome_has_no_receipt(tmp_path: Path) -> None:
    receipts = Late[Receipted | None]("receipts")
    receipts.set(None)
    async with opened(tmp_path, receipts) as found:
        made = await found.queue.ask(AskPerson(reason="r"), Caller("agent"))
        assert found.queue.is_open(made.id)
        closed = await found.queue.close(made.id, "ann", "done")
        assert (await found.queue.with_receipt(closed)).receipt is None
        await eventually(lambda: not found.queue.is_open(made.id))
