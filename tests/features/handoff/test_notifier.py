"""How people are told, however often that takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox_server.core import Caller
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
