"""Which of several services reconciles."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from sqlalchemy import text
from tandem_fleet import leadership
from tandem_fleet.fleet import Fleet
from tandem_fleet.leadership import Leadership, leading
from tandem_fleet.sandboxes import Desired, Spec, State
from tandem_fleet.store.database import Database

from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
HOLDER = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"


class Term:
    """Counts who leads, and how often one began."""

    def __init__(self) -> None:
        self.leaders: list[str] = []
        self.most = 0

    def of(self, name: str) -> leadership.Lead:
        """What is done by the service of this name while it leads."""

        @asynccontextmanager
        async def lead() -> AsyncIterator[None]:
            self.leaders.append(name)
            self.most = max(self.most, len(self.leaders))
            try:
                yield
            finally:
                self.leaders.remove(name)

        return lead


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "CHECK_SECONDS", 0.05)


@pytest.mark.sqlite
async def test_on_sqlite_it_leads_from_the_beginning(database: Database) -> None:
    term = Term()
    async with leading(database, term.of("one")) as one:
        assert (term.leaders, one.leads) == (["one"], True)
    assert term.leaders == []


@pytest.mark.postgresql
async def test_one_leads_and_another_does_when_it_ends(database: Database, store_url: str) -> None:
    term, other = Term(), Database(store_url)
    async with leading(other, term.of("two")) as second:
        await eventually(lambda: second.leads)
        async with leading(database, term.of("one")) as first:
            await asyncio.sleep(0.3)
            assert (term.leaders, first.leads) == (["two"], False)
        assert term.leaders == ["two"]
        async with leading(database, term.of("three")):
            pass
    async with leading(database, term.of("one")) as first:
        await eventually(lambda: first.leads)
        assert term.leaders == ["one"]
    assert term.most == 1
    await other.close()


@pytest.mark.postgresql
async def test_who_loses_its_connection_leads_no_longer_and_another_does(database: Database, store_url: str) -> None:
    term, other = Term(), Database(store_url)
    async with leading(database, term.of("one")) as first:
        await eventually(lambda: first.leads)
        async with leading(other, term.of("two")) as second:
            async with database.reading() as connection:
                holder = (await connection.execute(text(HOLDER))).scalar_one()
                await connection.execute(text(f"SELECT pg_terminate_backend({holder})"))

            async def moved() -> bool:
                async with database.reading() as connection:
                    holders = list((await connection.execute(text(HOLDER))).scalars())
                return holders not in ([], [holder]) and first.leads + second.leads == len(term.leaders) == 1

            await eventually(moved)
    await other.close()


@pytest.mark.postgresql
async def test_a_term_that_cannot_begin_is_begun_again(database: Database) -> None:
    tried = []

    @asynccontextmanager
    async def lead() -> AsyncIterator[None]:
        tried.append(1)
        if len(tried) < 3:
            raise OSError("the engine is away")
        yield

    async with leading(database, lead) as one:
        await eventually(lambda: one.leads)
    assert len(tried) == 3


@pytest.mark.postgresql
async def test_a_database_that_does_not_answer_ends_a_term(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "ANSWER_SECONDS", 0.2)
    term, one = Term(), Leadership(database)
    running = asyncio.create_task(one.run(term.of("one")))
    await eventually(lambda: one.leads)

    async def never() -> None:
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(one, "check", never)
        await eventually(lambda: not term.leaders)
    await eventually(lambda: one.leads)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.postgresql
async def test_of_several_services_one_reconciles_and_all_answer(make_fleet: Callable[[], Fleet], engine: MemoryBackend) -> None:
    async with make_fleet() as second:
        first = make_fleet()
        async with first:
            made = [await fleet.create("default", Spec(image="image"), name=name) for fleet, name in ((first, "a"), (second, "b"))]
            for fleet in (first, second):
                assert [(await fleet.settle(one.id, SECONDS)).state for one in made] == [State.READY] * 2
            assert len([call for call in engine.calls if call.startswith("start")]) == 2
        assert (await second.settle((await second.order("default", "a", Desired.STOPPED)).id, SECONDS)).state == State.STOPPED
    assert sorted(engine.sandboxes) == sorted(one.id for one in made)
