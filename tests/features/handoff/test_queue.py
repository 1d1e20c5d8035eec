"""What is asked of people, as it stands."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from sandbox_server.core import ALL_SCOPES, Caller, Conflict, NotFound, PermissionDenied, ResourceExhausted
from sandbox_server.core.receipt import HOLDING, Receipt
from sandbox_server.features.handoff import queue as module
from sandbox_server.features.handoff import store as store_module
from sandbox_server.features.handoff.handoff import AnswerHandoff, AskPerson, FormField, Kind
from sandbox_server.features.handoff.queue import HandoffQueue, Receipted
from tests.features.handoff.queues import Clock, queue

pytestmark = pytest.mark.anyio

AGENT = Caller("agent")
ANN, ADMIN = Caller("ann", frozenset({"control"}), person=True), Caller("root", ALL_SCOPES, person=True)
RECEIPT = Receipt(id="1", person="ann", began_at=999.0, ended_at=1001.0, ended="released")
LOGIN = AskPerson(kind="login", reason="a password is asked for")


@asynccontextmanager
async def opened(folder: Path, clock: Clock | None = None, receipted: Receipted | None = None) -> AsyncIterator[HandoffQueue]:
    async with AsyncExitStack() as stack:
        for part in queue(folder, clock, receipted):
            found = await stack.enter_async_context(part)
        assert isinstance(found, HandoffQueue)
        yield found


async def test_a_handoff_is_open_until_it_is_closed_or_times_out(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as found:
        asked, late = await found.ask(LOGIN, AGENT), await found.ask(LOGIN, AGENT)
        await found.claim(asked.id, "ann")
        assert [found.is_open(each) for each in (asked.id, late.id, "h-0")] == [True, True, False]
        await found.close(asked.id, "agent", "cancelled")
        assert not found.is_open(asked.id)
        clock.now = late.deadline_at
        assert not found.is_open(late.id)


async def test_who_waits_is_told_the_outcome(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(LOGIN, AGENT)
        assert (await found.closed(asked.id, 0.01)).status == "open"
        waiting = asyncio.create_task(found.closed(asked.id, 30))
        await found.claim(asked.id, "ann")
        await found.answer(AnswerHandoff(id=asked.id, outcome="partly", note="the second page failed"), "ann", "view")
        ended = await waiting
        assert (ended.outcome, ended.note, ended.claimed_by, ended.closed_by) == ("partly", "the second page failed", "ann", "ann")


async def test_an_old_request_that_is_answered_late_is_kept_although_many_were_closed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CLOSED", 3)
    clock = Clock()
    async with opened(tmp_path, clock) as found:
        old = await found.ask(LOGIN, AGENT)
        later = [await found.ask(LOGIN, AGENT) for _ in range(4)]
        for each in later:
            clock.now += 1
            await found.close(each.id, "agent", "cancelled")
        clock.now += 1
        await found.close(old.id, "agent", "cancelled")
        assert [each.id for each in found.listed("closed")] == [old.id, later[2].id, later[3].id]


async def test_only_one_person_can_claim_a_handoff(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(LOGIN, AGENT)
        await found.claim(asked.id, "ann")
        assert (await found.claim(asked.id, "ann")).claimed_by == "ann"
        with pytest.raises(Conflict, match="ann has claimed this"):
            await found.claim(asked.id, "bob")
        with pytest.raises(PermissionDenied):
            await found.assign(asked.id, Caller("bob", person=True, scopes=frozenset()), "bob")
        assert (await found.assign(asked.id, ADMIN, "bob")).claimed_by == "bob"
        assert (await found.assign(asked.id, Caller("bob", frozenset(), person=True), "ann")).claimed_by == "ann"


async def test_since_when_a_person_does_it_is_told(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as found:
        asked = await found.ask(LOGIN, AGENT)
        assert asked.claimed_at is None
        clock.now = 1007.0
        await found.claim(asked.id, "ann")
        clock.now = 1009.0
        assert (await found.claim(asked.id, "ann")).claimed_at == 1007.0
        assert (await found.assign(asked.id, ADMIN, "bob")).claimed_at == 1009.0


async def test_what_has_ended_does_not_end_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(LOGIN, AGENT)
        await found.close(asked.id, "agent", "cancelled")
        for again in (found.close(asked.id, "ann", "done"), found.claim(asked.id, "ann"), found.assign(asked.id, ANN, "ann")):
            with pytest.raises(Conflict, match="is closed: cancelled"):
                await again
        with pytest.raises(NotFound):
            found.get("h-none")


async def test_a_choice_is_one_of_those_offered(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(AskPerson(kind="choice", reason="which?", choices=["red", "blue"]), AGENT)
        with pytest.raises(Conflict, match="not among the choices"):
            await found.answer(AnswerHandoff(id=asked.id, outcome="done", choice="green"), "ann", "view")
        assert (await found.answer(AnswerHandoff(id=asked.id, outcome="done", choice="blue"), "ann", "view")).choice == "blue"


async def test_what_is_filled_in_comes_back_for_the_fields_that_were_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(AskPerson(reason="where to?", fields=[FormField(name="city", label="City")]), AGENT)
        with pytest.raises(Conflict, match="'street' is not a field"):
            await found.answer(AnswerHandoff(id=asked.id, outcome="done", values={"street": "x"}), "ann", "view")
        ended = await found.answer(AnswerHandoff(id=asked.id, outcome="done", values={"city": "Ulm"}), "ann", "view")

    assert (ended.values, ended.answered_in, ended.closed_by) == ({"city": "Ulm"}, "view", "ann")


async def test_what_was_asked_outlives_the_process_and_its_deadline_holds(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as found:
        asked = await found.ask(LOGIN, AGENT)
    clock.now += 10
    async with opened(tmp_path, clock) as again:
        assert [each.id for each in again.listed("open")] == [asked.id]
        clock.now = asked.deadline_at
        await again.ask(LOGIN, AGENT)  # the clock is looked at when something changes
        ended = await again.closed(asked.id, 30)
        assert (ended.outcome, ended.closed_by) == ("timeout", "clock")
        assert [each.id for each in again.listed("closed")] == [asked.id]


async def test_whoever_follows_sees_what_is_open_now_and_after_every_change(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        news = found.news()
        assert await anext(news) == []
        asked = await found.ask(LOGIN, AGENT)
        assert await anext(news) == [asked]
        await found.close(asked.id, "ann", "done")
        async with asyncio.timeout(30):
            assert await anext(news) == []


async def test_there_is_a_limit_to_what_is_asked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OPEN", 1)
    async with opened(tmp_path) as found:
        await found.ask(LOGIN, AGENT)
        with pytest.raises(ResourceExhausted):
            await found.ask(LOGIN, AGENT)


async def test_what_a_person_changed_comes_with_the_outcome_and_is_kept_once_it_is_whole(tmp_path: Path) -> None:
    told = [RECEIPT.model_copy(update={"ended": HOLDING}), RECEIPT]
    asked: list[tuple[str, float, float]] = []

    async def receipted(person: str, since: float, until: float) -> Receipt | None:
        asked.append((person, since, until))
        return told.pop(0) if told else None

    async with opened(tmp_path, receipted=receipted) as found:
        made = await found.ask(AskPerson(reason="r"), AGENT)
        assert (await found.with_receipt(made)).receipt is None, "nobody has answered yet"
        done = await found.close(made.id, "ann", "done")
        so_far = (await found.with_receipt(done)).receipt
        assert so_far
        assert so_far.ended == HOLDING
        assert found.get(made.id).receipt is None
        assert (await found.with_receipt(found.get(made.id))).receipt == RECEIPT
        assert (await found.with_receipt(found.get(made.id))).receipt == RECEIPT
        late = await found.ask(AskPerson(reason="r"), AGENT)
        assert (await found.with_receipt(await found.close(late.id, "clock", "timeout"))).receipt is None
    assert asked == [("ann", 1000.0, 1000.0)] * 2


async def test_a_request_is_answered_without_being_claimed(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(AskPerson(kind="confirm", reason="Place the order?"), AGENT)
        ended = await found.answer(AnswerHandoff(id=asked.id, outcome="done"), "ann", "view")
    assert (ended.claimed_by, ended.closed_by, ended.confirmed) == (None, "ann", True)


async def test_of_two_people_who_answer_at_once_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(AskPerson(kind="confirm", reason="Place the order?"), AGENT)
        yes, no = AnswerHandoff(id=asked.id, outcome="done"), AnswerHandoff(id=asked.id, outcome="cannot")
        first, second = await asyncio.gather(found.answer(yes, "ann", "view"), found.answer(no, "bob", "view"), return_exceptions=True)
        assert (found.get(asked.id).closed_by, found.get(asked.id).confirmed) == ("ann", True)
    assert not isinstance(first, BaseException)
    assert isinstance(second, Conflict)
    assert second.details == {"outcome": "done", "closed_by": "ann"}


async def test_nobody_answers_what_another_has_claimed_but_whoever_did(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(LOGIN, AGENT)
        await found.claim(asked.id, "ann")
        with pytest.raises(Conflict, match="ann has claimed this"):
            await found.answer(AnswerHandoff(id=asked.id, outcome="done"), "bob", "view")
        assert (await found.answer(AnswerHandoff(id=asked.id, outcome="done"), "ann", "view")).closed_by == "ann"


async def test_a_withdrawn_request_takes_no_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(LOGIN, AGENT)
        await found.close(asked.id, "agent", "cancelled")
        with pytest.raises(Conflict, match="is closed: cancelled"):
            await found.answer(AnswerHandoff(id=asked.id, outcome="done"), "ann", "view")


async def test_after_its_deadline_a_request_takes_no_answer_even_before_the_clock_has_closed_it(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as found:
        asked = await found.ask(LOGIN, AGENT)
        clock.now = asked.deadline_at
        late = (
            found.answer(AnswerHandoff(id=asked.id, outcome="done"), "ann", "view"),
            found.answer(AnswerHandoff(id=asked.id, outcome="done"), "agent", "client"),
            found.claim(asked.id, "ann"),
            found.assign(asked.id, ADMIN, "ann"),
        )
        for each in late:
            with pytest.raises(Conflict, match="is closed: timeout"):
                await each
        assert (await found.close(asked.id, "clock", "timeout")).outcome == "timeout"


@pytest.mark.parametrize(
    ("kind", "choices", "outcome", "confirmed"),
    [
        ("confirm", [], "done", True),
        ("confirm", [], "cannot", False),
        ("confirm", [], "instead", None),
        ("confirm", ["Now", "Later"], "done", None),
        ("login", [], "done", None),
    ],
)
async def test_only_a_confirmation_is_a_yes_or_a_no(
    tmp_path: Path, kind: Kind, choices: list[str], outcome: Literal["done", "cannot", "instead"], confirmed: bool | None
) -> None:
    async with opened(tmp_path) as found:
        asked = await found.ask(AskPerson(kind=kind, reason="r", choices=choices), AGENT)
        assert (await found.answer(AnswerHandoff(id=asked.id, outcome=outcome), "ann", "view")).confirmed is confirmed


async def test_what_programs_ask_and_withdraw_takes_the_place_of_no_answer_of_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (module, store_module):
        monkeypatch.setattr(each, "MAX_CLOSED", 3)
    clock = Clock()
    store, found = queue(tmp_path, clock)
    async with store, found:
        answered = await found.ask(AskPerson(reason="a code"), AGENT)
        await found.answer(AnswerHandoff(id=answered.id, outcome="done"), "ann", "view")
        for number in range(5):
            clock.now += 1
            more = await found.ask(AskPerson(reason="nothing"), AGENT)
            if number % 2:
                await found.close(more.id, "agent", "cancelled")
            else:
                await found.answer(AnswerHandoff(id=more.id, outcome="done"), "agent", "client")
        kept = {each.id for each in found.listed("closed")}
        assert {each.id for each in await store.all()} == kept
    assert (len(kept), answered.id in kept) == (3, True)
