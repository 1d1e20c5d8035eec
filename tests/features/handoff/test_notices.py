"""How people are told."""

import asyncio
import hashlib
import hmac
import json
from pathlib import Path

import pytest

from sandbox_server.core import Caller
from sandbox_server.drivers.webhook import Answer
from sandbox_server.features.handoff import notices as module
from sandbox_server.features.handoff.notices import Notices, signature
from sandbox_server.features.handoff.wire import AskPerson
from tests.features.handoff.desks import desk

pytestmark = pytest.mark.anyio

AGENT = Caller("agent")


class Hook:
    """A webhook that fails at first."""

    def __init__(self, *answers: Answer) -> None:
        self.posted: list[tuple[str, bytes, dict[str, str]]] = []
        self.taken = asyncio.Event()
        self._answers = list(answers)

    async def __call__(self, url: str, body: bytes, headers: dict[str, str]) -> Answer:
        self.posted.append((url, body, headers))
        if self._answers:
            return self._answers.pop(0)
        self.taken.set()
        return Answer(204, None)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.01,))


async def test_it_is_tried_until_it_is_taken_and_every_try_is_to_be_seen(tmp_path: Path) -> None:
    store, found = desk(tmp_path)
    hook = Hook(Answer(None, "refused"), Answer(500, "oops"))
    async with store, Notices(found, "https://hook.example/x", "s3cret", lambda _: "https://here/view?ticket=t", hook), found:
        asked = await found.ask(AskPerson(kind="otp", reason="a code"), AGENT)
        async with asyncio.timeout(30):
            news = found.news()
            while len(found.get(asked.id).deliveries) < 3:
                await anext(news)
        told = found.get(asked.id).deliveries
    assert [(each.status, each.error) for each in told] == [(None, "refused"), (500, "oops"), (204, None)]
    url, body, headers = hook.posted[-1]
    message = json.loads(body)
    assert url == "https://hook.example/x"
    assert (message["link"], message["handoff"]["id"]) == ("https://here/view?ticket=t", asked.id)
    assert message["text"] == "The agent asks for a person (otp): a code\nhttps://here/view?ticket=t"
    expected = hmac.new(b"s3cret", headers["X-Tandem-Timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Tandem-Signature"] == f"sha256={expected}"


async def test_what_was_open_when_the_process_ended_is_told_by_the_next(tmp_path: Path) -> None:
    store, found = desk(tmp_path)
    async with store, found:
        await found.ask(AskPerson(reason="r"), AGENT)
    store, found = desk(tmp_path)
    hook = Hook()
    async with store, Notices(found, "https://hook.example", None, lambda _: None, hook), found, asyncio.timeout(30):
        await hook.taken.wait()
    assert "X-Tandem-Signature" not in hook.posted[0][2]


async def test_what_was_taken_is_not_told_again_and_what_has_ended_not_any_more(tmp_path: Path) -> None:
    store, found = desk(tmp_path)
    hook = Hook(Answer(500, "oops"))
    async with store, Notices(found, "https://hook.example", None, lambda _: None, hook) as notices, found:
        asked = await found.ask(AskPerson(reason="r"), AGENT)
        async with asyncio.timeout(30):
            news = found.news()
            while len(found.get(asked.id).deliveries) < 2:
                await anext(news)
        notices.tell(found.get(asked.id))
        await asyncio.sleep(0)
        assert len(hook.posted) == 2


def test_without_a_secret_nothing_is_signed() -> None:
    assert signature(None, b"x", 1.0) == {}
