"""How people are told, however often that takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox_server.core import Caller, ResourceExhausted
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff import notifier as module
from sandbox_server.features.handoff.handoff import AnswerHandoff, AskPerson, Delivery, Handoff, NotificationChannel
from sandbox_server.features.handoff.notifier import HandoffNotifier, masked_error
from sandbox_server.features.handoff.queue import HandoffQueue
from tests.features.handoff.queues import queue
from tests.patience import eventually

pytestmark = pytest.mark.anyio

AGENT = Caller("agent")
LINK = "https://here/view?ticket=t"


class Place:
    """A target that answers as it is told to, and then takes what it gets."""

    def __init__(self, name: NotificationChannel, *answers: DeliveryResult) -> None:
        self.name: NotificationChannel = name
        self.secrets = ("t0ken",)
        self.told: list[tuple[str, str | None]] = []
        self._answers = list(answers)

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        self.told.append((handoff.id, link))
        return self._answers.pop(0) if self._answers else DeliveryResult(204, None)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.01,))


@asynccontextmanager
async def telling(folder: Path, *places: Place) -> AsyncIterator[tuple[HandoffQueue, HandoffNotifier]]:
    store, found = queue(folder)
    async with store, HandoffNotifier(found, places, lambda _: LINK) as notices, found:
        yield found, notices


def told(found: HandoffQueue, handoff: str) -> list[tuple[str, int | None, str | None]]:
    return sorted(((each.to, each.status, each.error) for each in found.get(handoff).deliveries), key=repr)


async def test_every_place_is_told_until_it_takes_it_and_every_try_is_to_be_seen(tmp_path: Path) -> None:
    slack, mail = Place("slack", DeliveryResult(None, f"bad t0ken in {LINK}"), DeliveryResult(500, "oops")), Place("mail")
    async with telling(tmp_path, slack, mail) as (found, _):
        asked = await found.ask(AskPerson(kind="otp", reason="a code"), AGENT)
        await eventually(lambda: len(found.get(asked.id).deliveries) == 4)
        seen = told(found, asked.id)

    assert seen == [("mail", 204, None), ("slack", 204, None), ("slack", 500, "oops"), ("slack", None, "bad *** in ***")]
    assert mail.told == [(asked.id, LINK)]


async def test_what_was_open_when_the_process_ended_is_told_by_the_next(tmp_path: Path) -> None:
    async with telling(tmp_path) as (found, _):
        asked = await found.ask(AskPerson(reason="r"), AGENT)
    place = Place("ntfy")
    async with telling(tmp_path, place):
        await eventually(lambda: place.told == [(asked.id, LINK)])


async def test_what_was_taken_is_not_told_again_and_what_has_ended_not_any_more(tmp_path: Path) -> None:
    place, broken = Place("telegram"), Place("slack", *[DeliveryResult(500, "oops")] * 1000)
    async with telling(tmp_path, place, broken) as (found, notices):
        asked = await found.ask(AskPerson(reason="r"), AGENT)
        await eventually(lambda: place.told and len(broken.told) > 1)
        await eventually(lambda: ("telegram", 204, None) in told(found, asked.id))
        await found.answer(AnswerHandoff(id=asked.id, outcome="done"), "ann", "view")
        await eventually(lambda: not notices._tasks._running)
        ended = len(broken.told)
        notices.tell(found.get(asked.id))
        await eventually(lambda: not notices._tasks._running)

    assert (len(place.told), len(broken.told)) == (1, ended)
    assert found.get(asked.id).status == "closed"
    assert len(found.get(asked.id).deliveries) == ended + 1


async def test_a_place_is_given_up_after_so_many_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TRIES", 2)
    broken = Place("mail", *[DeliveryResult(None, "refused")] * 9)
    async with telling(tmp_path, broken) as (found, notices):
        await found.ask(AskPerson(reason="r"), AGENT)
        await eventually(lambda: broken.told and not notices._tasks._running)

    assert len(broken.told) == 2


async def test_answers_claims_and_deliveries_at_once_lose_nothing(tmp_path: Path) -> None:
    async with telling(tmp_path) as (found, _):
        asked = await found.ask(AskPerson(reason="r"), AGENT)
        delivery = Delivery(at=1, status=None, error="x")
        changes = [found.delivered(asked.id, delivery), found.claim(asked.id, "ann"), found.delivered(asked.id, delivery)]
        await asyncio.gather(*changes, found.close(asked.id, "ann", "cancelled"), found.delivered(asked.id, delivery))
        ended = found.get(asked.id)

    assert (len(ended.deliveries), ended.claimed_by, ended.status) == (3, "ann", "closed")


def test_an_error_shows_no_secret() -> None:
    assert masked_error("https://x/bot1:a?1:a", ["1:a"]) == "https://x/bot***?***"
    assert masked_error(None, ["1:a"]) is None


class SlowPlace(Place):
    """A target that answers when it is let, and knows how many wait for it."""

    def __init__(self, name: NotificationChannel) -> None:
        super().__init__(name)
        self.waiting = 0
        self.most = 0
        self.answering = asyncio.Event()

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.answering.wait()
        self.waiting -= 1
        return await super().tell(handoff, link)


async def test_a_place_that_does_not_answer_is_told_one_thing_at_a_time_and_nothing_that_was_withdrawn(tmp_path: Path) -> None:
    slow = SlowPlace("webhook")
    async with telling(tmp_path, slow) as (found, notices):
        first = await found.ask(AskPerson(reason="first"), AGENT)
        await eventually(lambda: slow.waiting == 1)
        for _ in range(20):
            withdrawn = await found.ask(AskPerson(reason="nothing"), AGENT)
            await found.close(withdrawn.id, "agent", "cancelled")
        last = await found.ask(AskPerson(reason="last"), AGENT)
        slow.answering.set()
        await eventually(lambda: not notices._tasks._running, told=lambda: slow.told)

    assert ([each for each, _ in slow.told], slow.most) == ([first.id, last.id], 1)


async def test_who_asks_without_end_is_told_of_at_a_rate_and_what_is_held_back_says_so(tmp_path: Path) -> None:
    place = Place("ntfy")
    async with telling(tmp_path, place) as (found, _):
        asked = [await found.ask(AskPerson(reason="r"), Caller(f"agent#{number}")) for number in range(module.MESSAGES_AT_ONCE + 3)]
        await eventually(lambda: all(found.get(each.id).deliveries for each in asked), told=lambda: place.told)
        seen = [told(found, each.id) for each in asked]

    assert len(place.told) == module.MESSAGES_AT_ONCE
    held = [each[0] for each in seen[module.MESSAGES_AT_ONCE :]]
    assert [(each[0], each[1], each[2] and each[2].startswith("held back for a while: too many messages")) for each in held] == [
        ("ntfy", None, True)
    ] * 3


async def test_what_was_held_back_is_told_when_the_rate_allows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MESSAGES_PER_SECOND", 1000.0)
    place = Place("mail")
    async with telling(tmp_path, place) as (found, notices):
        asked = [await found.ask(AskPerson(reason="r"), AGENT) for _ in range(3 * module.MESSAGES_AT_ONCE)]
        await eventually(lambda: not notices._tasks._running, told=lambda: len(place.told))

    assert sorted(each for each, _ in place.told) == sorted(each.id for each in asked)


async def test_the_request_of_another_asker_comes_before_the_rest_of_one(tmp_path: Path) -> None:
    slow = SlowPlace("slack")
    async with telling(tmp_path, slow) as (found, notices):
        first = await found.ask(AskPerson(reason="r"), AGENT)
        await eventually(lambda: slow.waiting == 1)
        rest = [await found.ask(AskPerson(reason="r"), AGENT) for _ in range(3)]
        other = await found.ask(AskPerson(reason="r"), Caller("other"))
        slow.answering.set()
        await eventually(lambda: not notices._tasks._running, told=lambda: slow.told)

    assert [each for each, _ in slow.told] == [first.id, other.id, *(each.id for each in rest)]


async def test_a_link_that_cannot_be_made_is_told_and_tried_again_and_one_that_was_is_kept(tmp_path: Path) -> None:
    place, made = Place("telegram", DeliveryResult(500, "oops")), list[str]()

    def link(_: Handoff) -> str:
        made.append(f"{LINK}{len(made)}")
        if len(made) == 1:
            raise ResourceExhausted("all tickets are taken")
        return made[-1]

    store, found = queue(tmp_path)
    async with store, HandoffNotifier(found, [place], link) as notices, found:
        asked = await found.ask(AskPerson(reason="r"), AGENT)
        await eventually(lambda: not notices._tasks._running, told=lambda: place.told)
        seen = [(each.status, each.error) for each in found.get(asked.id).deliveries]

    assert seen == [(None, "no link could be made: all tickets are taken"), (500, "oops"), (204, None)]
    assert [each for _, each in place.told] == [f"{LINK}1"] * 2
