"""Events that are sent to others."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tandem_fleet import webhooks
from tandem_fleet.errors import InvalidError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.outbound import read_networks
from tandem_fleet.sandboxes import Desired
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database
from tandem_fleet.store.webhooks import Webhook

from tests.fleet.answering import Answering, Call
from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS, SPEC, ready
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
HOOK = "POST /hook"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(webhooks, "LOOK_SECONDS", 0.05)


@pytest.fixture
def make_fleet(engine: MemoryBackend, tmp_path: Path, answers: Answering) -> Callable[[], Fleet]:
    """A fleet whose webhooks may lead to this machine."""
    answers.answers[HOOK] = (200, {})

    def make() -> Fleet:
        database = Database(f"sqlite+aiosqlite:///{tmp_path}/fleet.db")
        key = SigningKey.kept(tmp_path / "key.pem")
        return Fleet(database, engine, key, "image", webhook_networks=read_networks("127.0.0.0/8"))

    return make


@pytest.fixture
async def fleet(make_fleet: Callable[[], Fleet]) -> AsyncIterator[Fleet]:
    """One that works."""
    async with make_fleet() as opened:
        yield opened


def types(answers: Answering) -> list[str]:
    """What was sent."""
    return [call.json["type"] for call in answers.called(HOOK)]


async def state(fleet: Fleet) -> Webhook:
    """The one webhook."""
    (found,) = await fleet.webhooks.of("default")
    return found


def verify(secret: str, call: Call) -> None:
    """What a receiver does with each, by the specification of Standard Webhooks."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert call.headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(call.headers["webhook-timestamp"]) - datetime.now(UTC).timestamp()) < 300


async def test_each_state_is_sent_in_order_and_signed(fleet: Fleet, answers: Answering) -> None:
    made = await fleet.webhooks.add("default", f"{answers.address}/hook", [])
    one = await ready(fleet)
    await eventually(lambda: len(types(answers)) == 3, SECONDS)
    assert types(answers) == ["sandbox.creating", "sandbox.starting", "sandbox.ready"]
    for call in answers.called(HOOK):
        verify(made.secret, call)
        assert (call.json["data"]["id"], call.headers["content-type"]) == (one.id, "application/json")
    assert len({call.headers["webhook-id"] for call in answers.called(HOOK)}) == 3


async def test_another_tenants_events_and_other_types_are_not_sent(fleet: Fleet, answers: Answering) -> None:
    await fleet.webhooks.add("default", f"{answers.address}/hook", ["sandbox.ready"])
    other = await fleet.create("other", SPEC)
    await fleet.settle(other.id, SECONDS)
    one = await ready(fleet)
    await eventually(lambda: types(answers), SECONDS)
    await fleet.settle((await fleet.order("default", one.id, Desired.PAUSED)).id, SECONDS)
    await fleet.settle((await fleet.order("default", one.id, Desired.RUNNING)).id, SECONDS)
    await eventually(lambda: len(types(answers)) >= 2, SECONDS)
    assert {call.json["data"]["id"] for call in answers.called(HOOK)} == {one.id}
    assert set(types(answers)) == {"sandbox.ready"}


async def test_what_is_not_taken_is_sent_again_with_the_same_id_and_nothing_goes_before_it(fleet: Fleet, answers: Answering) -> None:
    answers.answers[HOOK] = (500, {})
    await fleet.webhooks.add("default", f"{answers.address}/hook", [])
    await ready(fleet)
    await eventually(lambda: len(types(answers)) >= 3, SECONDS)
    assert set(types(answers)) == {"sandbox.creating"}
    assert len({call.headers["webhook-id"] for call in answers.called(HOOK)}) == 1
    failing = await state(fleet)
    assert failing.attempts >= 2
    assert failing.reason == "it answered 500"
    answers.answers[HOOK] = (200, {})
    await eventually(lambda: types(answers)[-1] == "sandbox.ready", SECONDS)

    async def is_well() -> bool:
        return (await state(fleet)).attempts == 0

    await eventually(is_well, SECONDS)


async def test_a_service_that_is_killed_sends_what_was_not_taken(make_fleet: Callable[[], Fleet], answers: Answering) -> None:
    answers.answers[HOOK] = (503, {})
    async with make_fleet() as first:
        await first.webhooks.add("default", f"{answers.address}/hook", [])
        await ready(first)
    answers.answers[HOOK] = (200, {})
    answers.calls.clear()
    async with make_fleet():
        await eventually(lambda: types(answers)[-1:] == ["sandbox.ready"], SECONDS)
    assert types(answers)[0] == "sandbox.creating"


async def test_one_that_fails_for_long_is_disabled_and_begins_again_when_it_is_told_to(
    fleet: Fleet, answers: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "GIVEN_UP", timedelta(0))
    answers.answers[HOOK] = (500, {})
    made = await fleet.webhooks.add("default", f"{answers.address}/hook", [])
    await ready(fleet)

    async def is_disabled() -> bool:
        return (await state(fleet)).disabled

    await eventually(is_disabled, SECONDS)
    answers.answers[HOOK] = (200, {})
    answers.calls.clear()
    await fleet.order("default", "work", Desired.STOPPED)
    assert not (await fleet.webhooks.enable("default", made.id)).disabled
    await fleet.settle((await fleet.order("default", "work", Desired.STOPPED)).id, SECONDS)
    await fleet.settle((await fleet.order("default", "work", Desired.RUNNING)).id, SECONDS)
    await eventually(lambda: types(answers)[-1:] == ["sandbox.ready"], SECONDS)
    with pytest.raises(NotFoundError):
        await fleet.webhooks.enable("other", made.id)


async def test_one_that_does_not_answer_holds_up_no_other(fleet: Fleet, answers: Answering) -> None:
    end = asyncio.Event()

    async def never(_: Call) -> tuple[int, Any]:
        await end.wait()
        return 200, {}

    answers.answers["POST /slow"] = never
    await fleet.webhooks.add("default", f"{answers.address}/slow", [])
    await fleet.webhooks.add("default", f"{answers.address}/hook", [])
    await ready(fleet)
    await eventually(lambda: len(types(answers)) == 3, SECONDS)
    assert len(answers.called("POST /slow")) == 1
    end.set()


async def test_a_redirect_is_not_followed(fleet: Fleet, answers: Answering) -> None:
    answers.answers[HOOK] = (302, {})
    await fleet.webhooks.add("default", f"{answers.address}/hook", [])
    await ready(fleet)

    async def has_failed() -> bool:
        return (await state(fleet)).reason == "it answered 302"

    await eventually(has_failed, SECONDS)


@pytest.mark.parametrize(("url", "kinds"), [("https://10.0.0.1/", []), ("ftp://example.com/", []), ("http://127.0.0.1/", ["sandbox.gone"])])
async def test_what_may_not_be_called_is_refused(fleet: Fleet, url: str, kinds: list[str]) -> None:
    with pytest.raises(InvalidError):
        await fleet.webhooks.add("default", url, kinds)


async def test_a_name_that_leads_elsewhere_later_is_not_called(fleet: Fleet, answers: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await fleet.webhooks.add("default", f"{answers.address}/hook", [])
    monkeypatch.setattr(fleet.webhooks, "_allowed", ())
    await ready(fleet)

    async def has_failed() -> bool:
        return "not public" in (await state(fleet)).reason

    await eventually(has_failed, SECONDS)
    assert answers.called(HOOK) == []
    await fleet.webhooks.remove("default", made.id)
    assert await fleet.webhooks.of("default") == []
