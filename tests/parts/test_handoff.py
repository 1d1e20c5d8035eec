"""What an agent asks of people."""

import asyncio
from types import SimpleNamespace

import pytest

from sandbox_server.core.control import Holding
from sandbox_server.features.handoff.notifier import HandoffNotifier
from sandbox_server.parts import handoff
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_everybody_is_told_that_the_settings_name() -> None:
    assert list(handoff.targets_of(load({}).handoff)) == []
    environ = {
        "HANDOFF_WEBHOOK_URL": "https://hook.example",
        "HANDOFF_WEBHOOK_SECRET": "s",
        "HANDOFF_SLACK_URL": "https://slack.example",
        "HANDOFF_TELEGRAM_TOKEN": "1:a",
        "HANDOFF_TELEGRAM_CHAT": "7",
        "HANDOFF_NTFY_URL": "https://ntfy.example/topic",
        "HANDOFF_SMTP_URL": "smtps://me:pass@mail.example",
        "HANDOFF_MAIL_FROM": "a@example.com",
        "HANDOFF_MAIL_TO": "b@example.com",
    }
    targets = list(handoff.targets_of(load(environ).handoff))

    assert [target.name for target in targets] == ["webhook", "slack", "telegram", "ntfy", "mail"]
    assert targets[4].secrets == ("pass",)
    part = handoff.part(Shared(load(environ)))
    assert any(isinstance(each, HandoffNotifier) for each in part.opened)


class Driving:
    """Somebody who came by a link drives."""

    def __init__(self) -> None:
        self.holding = Holding(2, "human", "invited#1234abcd-ff", frozenset({"shell"}))
        self.expelled: list[str] = []

    async def expel(self, name: str) -> None:
        self.expelled.append(name)


@pytest.mark.anyio
async def test_who_came_by_a_link_is_out_and_drives_no_more() -> None:
    shared = Shared(load({}))
    driving = Driving()
    shared.control = SimpleNamespace(driving=driving)  # type: ignore[assignment]
    waiting = asyncio.ensure_future(shared.revoked.end_of("invited#1234abcd-ff"))
    await asyncio.sleep(0)
    expel = handoff.expelled_by(shared)
    await expel("invited#99999999-")
    assert (waiting.done(), driving.expelled) == (False, [])
    await expel("invited#1234abcd-")
    async with asyncio.timeout(5):
        await waiting
    assert driving.expelled == ["invited#1234abcd-ff"]


def test_the_gateway_knows_which_requests_are_open() -> None:
    shared = Shared(load({}))
    assert not shared.is_asked("h-1")
    handoff.part(shared)
    assert shared.is_asked.__name__ == "is_open"
