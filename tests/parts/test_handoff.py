"""What an agent asks of people."""

import time
from dataclasses import replace
from pathlib import Path

from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.features.handoff.notices import Notices
from sandbox_server.features.handoff.wire import Handoff
from sandbox_server.parts import handoff
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load

OPEN = Handoff(
    id="h-1",
    kind="free",
    reason="r",
    instructions="",
    url=None,
    region=None,
    choices=[],
    on_timeout="give_up",
    asked_by="agent",
    created_at=0,
    deadline_at=time.time() + 60,
    status="open",
)


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
    assert any(isinstance(each, Notices) for each in part.opened)


def test_the_link_lets_somebody_see_and_control_once(tmp_path: Path) -> None:
    settings = load({"HANDOFF_LINK_URL": "https://here.example/"})
    settings = replace(settings, paths=replace(settings.paths, run=str(tmp_path), agent_run=str(tmp_path)))
    link = handoff.link_of(settings)(OPEN)
    assert link
    address, _, ticket = link.partition("?ticket=")
    assert address == "https://here.example/view"
    tickets = Tickets(Keyring(str(tmp_path), str(tmp_path)).tickets)
    grant = tickets.redeem(ticket, "/view")
    assert grant
    assert grant.scopes == {"view", "control"}
    assert tickets.redeem(ticket, "/view") is None


def test_without_an_address_there_is_no_link() -> None:
    assert handoff.link_of(load({}))(OPEN) is None
