"""Tickets, sessions and claims."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select
from tandem_fleet.errors import ConflictError, UnauthorizedError
from tandem_fleet.store import people as module
from tandem_fleet.store.database import Database
from tandem_fleet.store.people import PeopleStore, Session
from tandem_fleet.store.tables import sessions, tickets

pytestmark = pytest.mark.anyio
SCOPES = ["people"]


@pytest.fixture
def people(database: Database) -> PeopleStore:
    """The people in the store."""
    return PeopleStore(database)


async def signed_in(people: PeopleStore, person: str = "ann", tenant: str = "default") -> tuple[str, Session]:
    """A session, and its secret."""
    return await people.begin_session(await people.make_ticket(tenant, person, SCOPES))


async def test_a_ticket_begins_one_session_however_many_try(people: PeopleStore) -> None:
    ticket = await people.make_ticket("default", "ann", SCOPES)
    tried = await asyncio.gather(*(people.begin_session(ticket) for _ in range(5)), return_exceptions=True)
    begun = [one for one in tried if not isinstance(one, BaseException)]
    assert len(begun) == 1
    assert [type(one) for one in tried if isinstance(one, BaseException)] == [UnauthorizedError] * 4
    secret, session = begun[0]
    assert await people.session(secret) == session == Session(session.number, "default", "ann", frozenset(SCOPES))


async def test_what_is_over_opens_nothing(people: PeopleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TICKET", timedelta(seconds=-1))
    with pytest.raises(UnauthorizedError):
        await signed_in(people)
    monkeypatch.setattr(module, "TICKET", timedelta(seconds=30))
    monkeypatch.setattr(module, "SESSION", timedelta(seconds=-1))
    secret, _ = await signed_in(people)
    assert await people.session(secret) is None


@pytest.mark.parametrize("secret", ["", "x", "\udcff", "x" * 100_000])
async def test_who_guesses_is_nobody(people: PeopleStore, secret: str) -> None:
    await signed_in(people)
    assert await people.session(secret) is None
    with pytest.raises(UnauthorizedError):
        await people.begin_session(secret)


async def test_the_store_holds_no_secret(people: PeopleStore) -> None:
    ticket = await people.make_ticket("default", "ann", SCOPES)
    secret, _ = await signed_in(people)
    async with people.database.reading() as connection:
        kept = str([(await connection.execute(select(table))).all() for table in (tickets, sessions)])
    assert "ann" in kept
    assert ticket not in kept
    assert secret not in kept


async def test_sessions_end_with_what_they_have_claimed(people: PeopleStore) -> None:
    (ann, one), (mia, two) = await signed_in(people, "ann"), await signed_in(people, "mia")
    other, _ = await signed_in(people, "eve", "other")
    await people.claim("default", "s.h-1", "ann", one.number)
    await people.claim("default", "s.h-2", "mia", two.number)
    assert await people.end_sessions("default", one.number) == 1
    assert await people.session(ann) is None
    assert [claim.question for claim in await people.claims("default")] == ["s.h-2"]
    assert await people.end_sessions("default") == 1
    assert await people.session(mia) is None
    assert await people.claims("default") == []
    assert await people.session(other)


async def test_one_person_claims_and_others_are_told_who(people: PeopleStore) -> None:
    sessions = [(await signed_in(people, f"p{number}"))[1] for number in range(5)]
    tried = await asyncio.gather(*(people.claim("default", "s.h-1", one.person, one.number) for one in sessions), return_exceptions=True)
    [claim] = [one for one in tried if not isinstance(one, BaseException)]
    assert {str(one) for one in tried if isinstance(one, BaseException)} == {f"{claim.person} has claimed this"}
    await people.claim("default", "s.h-1", claim.person, claim.session)
    await people.claim("other", "s.h-1", "eve", "x")
    assert not await people.release("default", "s.h-1", "not-the-holder")
    with pytest.raises(ConflictError):
        await people.claim("default", "s.h-1", "eve", "x")
    assert await people.release("default", "s.h-1", claim.session)
    assert (await people.claim("default", "s.h-1", "eve", "x")).person == "eve"


async def test_a_claim_that_is_not_held_is_over(people: PeopleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLAIM", timedelta(seconds=-1))
    await people.claim("default", "s.h-1", "ann", "one")
    assert await people.claims("default") == []
    await people.claim("default", "s.h-1", "mia", "two")


async def test_a_tenant_has_room_for_so_many_sessions_and_the_oldest_makes_room(
    people: PeopleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SESSIONS", 2)
    secrets = [(await signed_in(people))[0] for _ in range(4)]
    assert [await people.session(one) is not None for one in secrets] == [False, False, True, True]
